/**
 * The inner loops: matrix products, convolutions, elementwise maps, reductions and the movement of
 * data, over native memory. Vector API and native library types appear in this package only.
 */
package dev.millrace.tensor.math;
