package dev.millrace.ops.array;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.tensor.Shape;
import java.util.List;

/** A tensor of a given shape whose elements are all the same. */
public final class Fill {
  public static final Op OP =
      Op.define("Fill")
          .attr("T: type")
          .attr("index_type: {int32, int64} = int32")
          .input("dims: index_type")
          .input("value: T")
          .output("output: T")
          .shape(
              c -> {
                c.inputOfRank(0, 1);
                c.inputOfRank(1, 0);
                return List.of(c.constantAsShape(0));
              })
          .kernel(
              c -> {
                Shape s = Axis.shape(c.input(0));
                if (!c.input(1).shape().isScalar()) {
                  throw MillraceException.invalid(
                      "value must be a scalar, got shape %s", c.input(1).shape());
                }
                dev.millrace.tensor.math.elementwise.TensorFill.with(c.input(1), c.allocate(0, s));
              })
          .gradient(g -> g.dx(1, MathNodes.sumAll(g.scope(), g.dy())))
          .build();

  private Fill() {}

  /** A tensor of the dimensions {@code dims}, each element the scalar {@code value}. */
  public static Output of(Scope scope, Output dims, Output value) {
    return scope.add(OP, dims, value).output();
  }

  /** Adds a tensor of constant shape, filled with {@code value}. */
  public static Output of(Scope scope, Shape shape, Output value) {
    return of(scope, Const.dims(scope, shape), value);
  }
}
