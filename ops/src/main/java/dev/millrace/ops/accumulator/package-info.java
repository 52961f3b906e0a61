/**
 * Accumulators that average the gradients of several workers: the meeting point of synchronous
 * training. Start with {@link dev.millrace.ops.accumulator.GradientAccumulator}.
 */
package dev.millrace.ops.accumulator;
