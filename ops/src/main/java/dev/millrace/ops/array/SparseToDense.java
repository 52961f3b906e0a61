package dev.millrace.ops.array;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.GradientContext;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.StridedCopy;
import dev.millrace.tensor.math.elementwise.TensorFill;
import java.util.List;

/** A default value everywhere but at some coordinates. */
public final class SparseToDense {
  public static final Op OP =
      Op.define("SparseToDense")
          .attr("validate_indices: bool = true")
          .attr("T: type")
          .attr("Tindices: {int32, int64}")
          .input("sparse_indices: Tindices")
          .input("output_shape: Tindices")
          .input("sparse_values: T")
          .input("default_value: T")
          .output("dense: T")
          .shape(c -> List.of(c.constantAsShape(1)))
          .kernelPerNode(SparseToDense::kernel)
          .gradient(SparseToDense::gradient)
          .build();

  private SparseToDense() {}

  /** A tensor of {@code shape} with values at {@code indices} and a default elsewhere. */
  public static Output of(
      Scope scope, Output indices, Output shape, Output values, Output defaultValue) {
    return scope.add(OP, indices, shape, values, defaultValue).output();
  }

  private static Kernel kernel(Node node) {
    boolean validate = node.booleanAttr("validate_indices");
    return c -> {
      Shape s = Axis.shape(c.input(1));
      Tensor values = c.input(2);
      Tensor given = c.input(0);
      Tensor matrix = asMatrix(given, s.rank());
      try {
        long n = matrix.shape().dim(0);
        if (!values.shape().isScalar() && (values.shape().rank() != 1 || values.elements() != n)) {
          throw MillraceException.invalid(
              "sparse_values has incorrect shape %s, should be [] or [%d]", values.shape(), n);
        }
        if (!c.input(3).shape().isScalar()) {
          throw MillraceException.invalid("default_value should be a scalar.");
        }
        Tensor out = c.allocate(0, s);
        TensorFill.with(c.input(3), out);
        Coordinates at = new Coordinates(matrix, s);
        long last = -1;
        for (long i = 0; i < n; i++) {
          long row = at.row(i);
          if (row < 0) {
            throw MillraceException.invalid(
                "indices[%d] = %s is out of bounds: need 0 <= index < %s", i, at.text(i), s);
          }
          if (validate && row <= last) {
            throw MillraceException.invalid(
                "indices[%d] = %s is %s", i, at.text(i), row == last ? "repeated" : "out of order");
          }
          last = row;
          StridedCopy.copyRun(values, values.shape().isScalar() ? 0 : i, out, row, 1);
        }
      } finally {
        Refs.release(matrix);
      }
    };
  }

  /** A scalar is one index, a vector holds indices into a vector. */
  private static Tensor asMatrix(Tensor indices, int rank) {
    Shape s = indices.shape();
    if (s.rank() > 2) {
      throw MillraceException.invalid(
          "sparse_indices should be a scalar, vector, or matrix, got shape %s", s);
    }
    Tensor m =
        Refs.reshaped(indices, s.rank() == 2 ? s : Shape.of(s.rank() == 0 ? 1 : s.dim(0), 1));
    if (m.shape().dim(1) != rank) {
      Refs.release(m);
      throw MillraceException.invalid(
          "output_shape has incorrect number of elements: %d should be: %d",
          rank, s.rank() == 2 ? s.dim(1) : 1);
    }
    return m;
  }

  private static void gradient(GradientContext g) {
    Scope s = g.scope();
    Output rank = ShapeOf.size(s, g.input(1));
    Output matrix = Reshape.of(s, g.input(0), Pack.of(s, List.of(Const.of(s, -1), rank)));
    Output values = GatherNd.of(s, g.dy(), matrix);
    g.dx(2, BroadcastGradient.reduce(s, values, g.input(2), values));
    Output all = MathNodes.sumAll(s, g.dy());
    g.dx(3, MathNodes.sub(s, all, MathNodes.sumAll(s, values)));
  }
}
