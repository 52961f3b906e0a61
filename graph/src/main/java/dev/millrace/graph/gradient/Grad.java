package dev.millrace.graph.gradient;

import dev.millrace.graph.Output;

/** The gradient with respect to one tensor. */
public sealed interface Grad {
  /** A tensor of the same shape. */
  record Dense(Output value) implements Grad {}

  /**
   * Zero but in some rows: row {@code indices[i]} has {@code values[i]} added, repeated indices add
   * up. {@code denseShape} is the shape of the whole. TensorFlow calls this IndexedSlices.
   */
  record Rows(Output values, Output indices, Output denseShape) implements Grad {}

  /** Nothing depends on the tensor. */
  record None() implements Grad {}
}
