/** Reductions, scans, arg-extrema and softmax. */
package dev.millrace.tensor.math.reduce;
