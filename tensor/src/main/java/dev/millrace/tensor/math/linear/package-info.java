/**
 * Dense linear algebra on one matrix of real or complex numbers, in double precision: triangular
 * factors, orthogonal factors, eigenvalues and singular values.
 *
 * <p>No library does this for us: those in pure Java have no singular values of complex matrices,
 * another code for each element type, and signs of their own where TensorFlow has LAPACK's. Here
 * every algorithm is written once, by operations on rows.
 */
package dev.millrace.tensor.math.linear;
