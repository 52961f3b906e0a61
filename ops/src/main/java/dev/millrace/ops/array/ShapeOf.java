package dev.millrace.ops.array;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.stream.IntStream;

/** What is to be known of tensors apart from their elements: Shape, ShapeN, Size and Rank. */
public final class ShapeOf {
  private static final String WHY = "a shape does not depend on the values";

  public static final Op OP =
      Op.define("Shape")
          .attr("T: type")
          .attr("out_type: {int32, int64} = int32")
          .input("input: T")
          .output("output: out_type")
          .shape(c -> List.of(vectorFor(c.input(0))))
          .kernel(c -> dims(c, 0))
          .noGradient(WHY)
          .build();

  /** The shapes of several tensors. */
  public static final Op N =
      Op.define("ShapeN")
          .attr("N: int >= 1")
          .attr("T: type")
          .attr("out_type: {int32, int64} = int32")
          .input("input: N * T")
          .output("output: N * out_type")
          .shape(
              c -> IntStream.range(0, c.inputCount()).mapToObj(i -> vectorFor(c.input(i))).toList())
          .kernel(
              c -> {
                for (int i = 0; i < c.inputCount(); i++) {
                  dims(c, i);
                }
              })
          .noGradient(WHY)
          .build();

  /** The number of elements. */
  public static final Op SIZE =
      Op.define("Size")
          .attr("T: type")
          .attr("out_type: {int32, int64} = int32")
          .input("input: T")
          .output("output: out_type")
          .shape(Shapes.scalar())
          .kernel(c -> set(c.allocate(0, Shape.scalar()), 0, c.input(0).elements()))
          .noGradient(WHY)
          .build();

  /** The number of dimensions. */
  public static final Op RANK =
      Op.define("Rank")
          .attr("T: type")
          .input("input: T")
          .output("output: int32")
          .shape(Shapes.scalar())
          .kernel(c -> c.allocate(0, Shape.scalar()).setLong(0, c.input(0).shape().rank()))
          .noGradient(WHY)
          .build();

  private ShapeOf() {}

  /** The dimensions of {@code x} as a vector of int32. */
  public static Output of(Scope scope, Output x) {
    return scope.add(OP, x).output();
  }

  /** The dimensions of {@code x} as a vector of int64. */
  public static Output longs(Scope scope, Output x) {
    return scope.node(OP).input(x).attr("out_type", DType.INT64).add().output();
  }

  /** The dimensions of {@code x}: a constant if they are known already, else a Shape. */
  public static Output known(Scope scope, Output x) {
    return x.shape().isKnown() && fits(x.shape()) ? Const.dims(scope, x.shape()) : of(scope, x);
  }

  /** Whether {@code dims} is surely the dimensions of {@code x}, whatever they turn out to be. */
  public static boolean isShapeOf(Output dims, Output x) {
    Node n = dims.node();
    if (n.op() == OP || n.op() == N) {
      return n.input(dims.index()) == x;
    }
    return n.op() == Const.OP
        && x.shape().isKnown()
        && Axis.shape(n.tensorAttr("value")).equals(x.shape());
  }

  /** The number of elements of {@code x} as an int32 scalar. */
  public static Output size(Scope scope, Output x) {
    return scope.add(SIZE, x).output();
  }

  /** The number of dimensions of {@code x}: a constant if it is known already. */
  public static Output rank(Scope scope, Output x) {
    return x.shape().hasRank() ? Const.of(scope, x.shape().rank()) : scope.add(RANK, x).output();
  }

  private static boolean fits(Shape s) {
    return s.elements() <= Integer.MAX_VALUE;
  }

  private static Shape vectorFor(Shape s) {
    return Shape.of(s.hasRank() ? s.rank() : Shape.UNKNOWN);
  }

  private static void dims(KernelContext c, int i) {
    Shape s = c.input(i).shape();
    Tensor t = c.allocate(i, Shape.of(s.rank()));
    for (int k = 0; k < s.rank(); k++) {
      set(t, k, s.dim(k));
    }
  }

  private static void set(Tensor t, int k, long v) {
    if (t.dtype() == DType.INT32 && v > Integer.MAX_VALUE) {
      throw MillraceException.invalid(
          "%d does not fit the out_type int32; ask for out_type=int64.", v);
    }
    t.setLong(k, v);
  }
}
