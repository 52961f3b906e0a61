package dev.millrace.ops.array;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;

/** Ones of the shape and type of a tensor. */
public final class OnesLike {
  public static final Op OP =
      Op.define("OnesLike")
          .attr(
              "T: {bfloat16, half, float, double, int8, uint8, int16, uint16, int32, uint32,"
                  + " int64, uint64, complex64, complex128, bool}")
          .input("x: T")
          .output("y: T")
          .shape(Shapes.like(0))
          .kernelPerNode(
              node -> {
                Tensor one = one(node.output(0).dtype());
                return c ->
                    dev.millrace.tensor.math.elementwise.TensorFill.with(
                        one, c.allocateOrReuse(0, 0, c.input(0).shape()));
              })
          .noGradient("ones do not depend on the values")
          .build();

  private OnesLike() {}

  /** Ones of the shape and type of {@code x}. */
  public static Output of(Scope scope, Output x) {
    return scope.add(OP, x).output();
  }

  private static Tensor one(DType type) {
    Tensor one = Tensor.allocate(type, Shape.scalar());
    if (type.isPlain()) {
      one.setDouble(0, 1);
    } else {
      throw new MillraceException(Code.UNIMPLEMENTED, "there is no one of type " + type);
    }
    return one;
  }
}
