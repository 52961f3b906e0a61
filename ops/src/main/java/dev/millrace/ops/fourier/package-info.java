/** Discrete Fourier transforms of complex and real numbers, in one to three dimensions. */
package dev.millrace.ops.fourier;
