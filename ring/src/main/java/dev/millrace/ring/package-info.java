/**
 * Training in which every process is a worker and gradients are averaged between them, after
 * Horovod's pattern. A process joins with {@link dev.millrace.collective.Ring#init}, builds its
 * graph with {@link dev.millrace.ring.RingOps}, wraps its optimizer in a {@link
 * dev.millrace.ring.DistributedOptimizer}, takes over rank 0's variables with {@link
 * dev.millrace.ring.VariableBroadcast}, and trains as if alone.
 */
package dev.millrace.ring;
