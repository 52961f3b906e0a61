/** Elementwise functions with broadcasting, casts, and the compiler of their vector loops. */
package dev.millrace.tensor.math.elementwise;
