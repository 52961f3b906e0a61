package dev.millrace.ops.array;

import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.tensor.DType;

/**
 * Adds nodes of mathematical ops for the gradients of array ops. Names the ops by string: the
 * classes that define them are in {@code ops.math}, which builds on this package.
 */
final class MathNodes {
  private MathNodes() {}

  /** {@code x + y}. */
  static Output add(Scope scope, Output x, Output y) {
    return binary(scope, "AddV2", x, y);
  }

  /** {@code x - y}. */
  static Output sub(Scope scope, Output x, Output y) {
    return binary(scope, "Sub", x, y);
  }

  /** {@code x * y}, element by element. */
  static Output mul(Scope scope, Output x, Output y) {
    return binary(scope, "Mul", x, y);
  }

  /** The remainder of {@code x / y} with the sign of {@code y}. */
  static Output floorMod(Scope scope, Output x, Output y) {
    return binary(scope, "FloorMod", x, y);
  }

  /** The larger of each two. */
  static Output maximum(Scope scope, Output x, Output y) {
    return binary(scope, "Maximum", x, y);
  }

  /** Whether {@code x >= y}. */
  static Output greaterEqual(Scope scope, Output x, Output y) {
    return binary(scope, "GreaterEqual", x, y);
  }

  /** {@code x} as {@code type}; {@code x} itself if it has that type. */
  static Output cast(Scope scope, Output x, DType type) {
    return x.dtype() == type ? x : scope.node("Cast").input(x).attr("DstT", type).add().output();
  }

  /** The sums along {@code axes}, which stay as dimensions of size 1 if {@code keepDims}. */
  static Output sum(Scope scope, Output x, Output axes, boolean keepDims) {
    return reduce(scope, "Sum", x, axes, keepDims);
  }

  /** The products along {@code axes}, which stay as dimensions of size 1 if {@code keepDims}. */
  static Output prod(Scope scope, Output x, Output axes, boolean keepDims) {
    return reduce(scope, "Prod", x, axes, keepDims);
  }

  /** The sum of all elements, a scalar. */
  static Output sumAll(Scope scope, Output x) {
    return sum(scope, x, Range.ofDimensions(scope, x), false);
  }

  private static Output binary(Scope scope, String op, Output x, Output y) {
    return scope.node(op).input(x).input(y).add().output();
  }

  private static Output reduce(Scope scope, String op, Output x, Output axes, boolean keepDims) {
    return scope.node(op).input(x).input(axes).attr("keep_dims", keepDims).add().output();
  }
}
