/**
 * TensorFlow's graph as a Java object: {@link dev.millrace.graph.Graph} holds {@link
 * dev.millrace.graph.Node nodes}, built through a {@link dev.millrace.graph.Scope} or imported from
 * a GraphDef. What a node does is defined by its {@link dev.millrace.graph.Op}: signature, shape
 * function, kernel and gradient.
 */
package dev.millrace.graph;
