package dev.millrace.train.variable;

import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.storage.ShapeAndSlice;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;

/** What a variable starts with. {@link Initializers} has the usual ones. */
@FunctionalInterface
public interface Initializer {
  /** Adds the nodes that compute the initial value of a variable of this type and shape. */
  Output of(Scope scope, DType dtype, Shape shape);

  /** What one part of a variable starts with, so that all of them together are as the whole. */
  default Initializer forPart(ShapeAndSlice part) {
    return this;
  }
}
