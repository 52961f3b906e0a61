package dev.millrace.train.variable;

import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.storage.checkpoint.ShapeAndSlice;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;

/**
 * The initial value of a variable. {@link Initializers} has the usual ones; a program writes its
 * own as a lambda or, if the value depends on the whole of a partitioned variable, as a class that
 * overrides {@link #forPart}. Random values take their seeds from {@link Seeds}, so that a graph
 * with a seed is repeatable.
 */
@FunctionalInterface
public interface Initializer {
  /**
   * Adds the nodes that compute the initial value and returns its output, of exactly this type and
   * shape. They run on the task that holds the variable, so every op must be known there.
   *
   * @param scope where to add them: under the variable's name and placed with it
   */
  Output of(Scope scope, DType dtype, Shape shape);

  /**
   * The initializer of one part of a partitioned variable. Returns this one unless overridden,
   * which is right for values that depend neither on the shape nor on the position.
   *
   * @param part the shape of the whole variable and the slice of it that the part is
   */
  default Initializer forPart(ShapeAndSlice part) {
    return this;
  }
}
