/** Names of graph collections, and nodes that group others. */
package dev.millrace.train.graph;
