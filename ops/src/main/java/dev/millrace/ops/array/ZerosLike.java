package dev.millrace.ops.array;

import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.ops.value.TensorList;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.elementwise.TensorFill;
import java.util.Arrays;

/** Zeros of the shape and type of a tensor; empty strings where it holds strings. */
public final class ZerosLike {
  public static final Op OP =
      Op.define("ZerosLike")
          .attr("T: type")
          .input("x: T")
          .output("y: T")
          .shape(Shapes.like(0))
          .kernelPerNode(
              node ->
                  node.output(0).dtype() == DType.VARIANT
                      ? TensorList::zerosLike
                      : c -> clear(c.allocateOrReuse(0, 0, c.input(0).shape())))
          .noGradient("zeros do not depend on the values")
          .build();

  private static final byte[] EMPTY = {};

  private ZerosLike() {}

  /** Zeros of the shape and type of {@code x}. */
  public static Output of(Scope scope, Output x) {
    return scope.add(OP, x).output();
  }

  /** Sets all elements to zero, or to the empty string. */
  public static void clear(Tensor t) {
    if (t.dtype().isPlain()) {
      TensorFill.zero(t);
    } else {
      Arrays.fill(t.objects(), EMPTY);
    }
  }

  /** Clears {@code count} elements from {@code start} on. */
  static void clear(Tensor t, long start, long count) {
    if (t.dtype().isPlain()) {
      long bytes = t.dtype().bytes();
      t.data().asSlice(start * bytes, count * bytes).fill((byte) 0);
    } else {
      Arrays.fill(t.objects(), (int) start, (int) (start + count), EMPTY);
    }
  }
}
