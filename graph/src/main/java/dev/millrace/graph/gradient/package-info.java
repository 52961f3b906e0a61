/**
 * Symbolic gradients: {@link dev.millrace.graph.gradient.Gradients} walks a graph backwards from
 * what is to be minimised and asks each op for the ops of its gradient.
 */
package dev.millrace.graph.gradient;
