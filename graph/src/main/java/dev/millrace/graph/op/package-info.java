/**
 * What an op is: {@link dev.millrace.graph.op.Op} with its signature, shape function, kernel and
 * gradient; the {@link dev.millrace.graph.op.KernelContext} a kernel works with; and the state
 * kernels share: {@link dev.millrace.graph.op.Resources}, {@link dev.millrace.graph.op.Variable},
 * {@link dev.millrace.graph.op.Rendezvous}.
 */
package dev.millrace.graph.op;
