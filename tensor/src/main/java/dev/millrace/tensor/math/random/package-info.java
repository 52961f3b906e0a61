/** Counter-based random numbers, equal to those of TensorFlow. */
package dev.millrace.tensor.math.random;
