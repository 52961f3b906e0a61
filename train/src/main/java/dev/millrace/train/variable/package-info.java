/**
 * Variables in a graph: how they are made ({@link dev.millrace.train.variable.VariableScope}), what
 * they start with ({@link dev.millrace.train.variable.Initializer}), and what a graph has of them
 * ({@link dev.millrace.train.variable.Variables}).
 */
package dev.millrace.train.variable;
