/**
 * TensorFlow's collective ops: devices of several tasks reduce, gather or broadcast a tensor
 * without a parameter server. How they do it is the business of {@link
 * dev.millrace.graph.resource.CollectiveExecutor}. Ranks of a ring of Millrace processes have
 * faster ones; see {@code dev.millrace.ring}.
 */
package dev.millrace.ops.collective;
