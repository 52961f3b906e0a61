/** Rules for the names of nodes and devices. */
package dev.millrace.graph.name;
