package dev.millrace.ops.array;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.ShapeContext;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.reduce.Extremum;
import java.util.List;

/** Where along a dimension the largest (or smallest) element stands; the first of equals. */
public final class ArgMax {
  public static final Op OP =
      define("ArgMax", "{int16, int32, int64}", "{int16, uint16, int32, int64}", true);
  public static final Op MIN = define("ArgMin", "{int32, int64}", "{int32, int64}", false);

  private ArgMax() {}

  private static Op define(String name, String axisTypes, String outputTypes, boolean max) {
    return Op.define(name)
        .attr(
            "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32,"
                + " uint64, qint8, quint8, qint32, qint16, quint16, bool}")
        .attr("Tidx: " + axisTypes + " = int32")
        .attr("output_type: " + outputTypes + " = int64")
        .input("input: T")
        .input("dimension: Tidx")
        .output("output: output_type")
        .shape(ArgMax::infer)
        .kernelPerNode(node -> kernel(node, max))
        .noGradient("it is piecewise constant")
        .build();
  }

  /** The position of the largest element along dimension {@code axis}, as int64. */
  public static Output of(Scope scope, Output input, int axis) {
    return scope.add(OP, input, Const.of(scope, axis)).output();
  }

  private static List<Shape> infer(ShapeContext c) {
    Shape in = c.input(0);
    Tensor axis = c.constant(1);
    if (!in.hasRank()) {
      return List.of(in);
    }
    if (in.rank() <= 1 || axis == null) {
      return List.of(Shape.unknownOfRank(Math.max(0, in.rank() - 1)));
    }
    return List.of(without(in, Axis.of(axis, in.rank())));
  }

  private static Shape without(Shape in, int axis) {
    return in.slice(0, axis).concat(in.slice(axis + 1, in.rank()));
  }

  private static Kernel kernel(Node node, boolean max) {
    DType type = node.input(0).dtype();
    if (!type.isFloating() && !type.isIntegral() && type != DType.BOOL) {
      throw new MillraceException(
          Code.UNIMPLEMENTED,
          node.op().name() + " '" + node.name() + "' cannot compare " + type + " here.");
    }
    return c -> {
      Tensor x = c.input(0);
      Shape s = x.shape();
      int axis = Axis.of(c.input(1), s.rank());
      if (s.dim(axis) == 0) {
        throw MillraceException.invalid("Reduction axis %d is empty in shape %s", axis, s);
      }
      long outer = s.slice(0, axis).elements();
      long inner = s.slice(axis + 1, s.rank()).elements();
      Extremum.position(max, outer, s.dim(axis), inner, x, c.allocate(0, without(s, axis)));
    };
  }
}
