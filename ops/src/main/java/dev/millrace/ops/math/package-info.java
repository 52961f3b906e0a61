/**
 * Arithmetic: element by element, comparisons, reductions and matrix products. Start with {@link
 * dev.millrace.ops.math.Arithmetic}; the loops themselves are in {@code dev.millrace.tensor.math}.
 */
package dev.millrace.ops.math;
