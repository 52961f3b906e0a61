/**
 * Random numbers. With the same seeds they are TensorFlow's own: {@link
 * dev.millrace.tensor.math.random.Philox} is the generator, {@link
 * dev.millrace.ops.random.SeededState} says which part of its sequence an execution uses.
 */
package dev.millrace.ops.random;
