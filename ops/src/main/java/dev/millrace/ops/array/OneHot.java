package dev.millrace.ops.array;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.ShapeContext;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.StridedCopy;
import java.util.List;

/**
 * For each index a vector of {@code depth} elements along a new dimension: {@code on_value} at the
 * index and {@code off_value} elsewhere; all off for an index out of range.
 */
public final class OneHot {
  public static final Op OP =
      Op.define("OneHot")
          .attr("axis: int = -1")
          .attr("T: type")
          .attr("TI: {uint8, int8, int32, int64} = int64")
          .input("indices: TI")
          .input("depth: int32")
          .input("on_value: T")
          .input("off_value: T")
          .output("output: T")
          .shape(OneHot::infer)
          .kernelPerNode(OneHot::kernel)
          .noGradient("it is piecewise constant in the indices")
          .build();

  private OneHot() {}

  /** Floats, 1 at the index and 0 elsewhere, along a new last dimension. */
  public static Output of(Scope scope, Output indices, int depth) {
    return scope
        .add(OP, indices, Const.of(scope, depth), Const.of(scope, 1f), Const.of(scope, 0f))
        .output();
  }

  private static List<Shape> infer(ShapeContext c) {
    Tensor depth = c.constant(1);
    long n = depth == null ? Shape.UNKNOWN : depth(depth);
    return List.of(
        c.input(0).hasRank() ? shape(c.input(0), n, c.node().longAttr("axis")) : Shape.unknown());
  }

  private static long depth(Tensor t) {
    long n = Axis.single(t, "depth");
    if (n < 0) {
      throw MillraceException.invalid("depth must be non-negative, got: %d", n);
    }
    return n;
  }

  private static int at(Shape indices, long axis) {
    if (axis < -1) {
      throw MillraceException.invalid("axis must be -1, for the last, or more; it is %d.", axis);
    }
    return Axis.of(axis, indices.rank() + 1);
  }

  private static Shape shape(Shape in, long depth, long axis) {
    int at = at(in, axis);
    return in.slice(0, at).concat(Shape.of(depth)).concat(in.slice(at, in.rank()));
  }

  private static Kernel kernel(Node node) {
    long axis = node.longAttr("axis");
    return c -> {
      Tensor indices = c.input(0);
      long depth = depth(c.input(1));
      checkScalar(c.input(2), "on_value");
      checkScalar(c.input(3), "off_value");
      Tensor y = c.allocate(0, shape(indices.shape(), depth, axis));
      dev.millrace.tensor.math.elementwise.TensorFill.with(c.input(3), y);
      int at = at(indices.shape(), axis);
      long inner = indices.shape().slice(at, indices.shape().rank()).elements();
      long n = indices.elements();
      for (long i = 0; i < n; i++) {
        long index = indices.longAt(i);
        if (index >= 0 && index < depth) {
          StridedCopy.copyRun(c.input(2), 0, y, (i / inner * depth + index) * inner + i % inner, 1);
        }
      }
    };
  }

  private static void checkScalar(Tensor t, String name) {
    if (!t.shape().isScalar()) {
      throw MillraceException.invalid("%s must be a scalar, but got: %s", name, t.shape());
    }
  }
}
