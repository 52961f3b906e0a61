/** Shape functions that many ops share. */
package dev.millrace.graph.shape;
