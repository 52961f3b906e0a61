package dev.millrace.ops.array;

import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;

/** A value fixed when the graph is built. */
public final class Const {
  public static final Op OP =
      Op.define("Const")
          .attr("value: tensor")
          .attr("dtype: type")
          .output("output: dtype")
          .shape(c -> List.of(c.node().tensorAttr("value").shape()))
          .runsOnAnyDevice()
          .kernelPerNode(
              node -> {
                Tensor value = node.tensorAttr("value");
                return c -> c.output(0, c.memory().fromHost(Refs.retain(value)));
              })
          .noGradient("a constant depends on nothing")
          .build();

  private Const() {}

  /** Adds {@code value} as a constant. The graph shares its memory; the tensor may be closed. */
  public static Output of(Scope scope, Tensor value) {
    return scope.node(OP).attr("value", value).attr("dtype", value.dtype()).add().output();
  }

  /** A scalar. */
  public static Output of(Scope scope, float value) {
    return of(scope, Tensor.scalar(value));
  }

  /** A scalar of int32. */
  public static Output of(Scope scope, int value) {
    return of(scope, Tensor.scalar(value));
  }

  /** A scalar of int64. */
  public static Output of(Scope scope, long value) {
    return of(scope, Tensor.scalar(value));
  }

  /** A scalar of type {@code dtype}, rounded to it. */
  public static Output of(Scope scope, DType dtype, double value) {
    Tensor t = Tensor.allocate(dtype, Shape.scalar());
    t.setDouble(0, value);
    return of(scope, t);
  }

  /** A scalar of bytes: the string in UTF-8. */
  public static Output of(Scope scope, String value) {
    return of(scope, Tensor.scalar(value));
  }

  /** A vector of ints, as shapes and axes want it. */
  public static Output ints(Scope scope, int... values) {
    return of(scope, Tensor.vector(values));
  }

  /** The dimensions of a known shape as a vector of ints. */
  public static Output dims(Scope scope, Shape shape) {
    int[] d = new int[shape.rank()];
    for (int i = 0; i < d.length; i++) {
      d[i] = Math.toIntExact(shape.dim(i));
    }
    return of(scope, Tensor.vector(d));
  }
}
