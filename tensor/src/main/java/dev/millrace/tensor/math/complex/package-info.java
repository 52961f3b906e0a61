/** Complex numbers: their arithmetic, their elements in tensors, and Fourier transforms of them. */
package dev.millrace.tensor.math.complex;
