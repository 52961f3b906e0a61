package dev.millrace.ops.sparse;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Gradient;
import dev.millrace.graph.GradientContext;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.ShapeContext;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.StridedCopy;
import java.util.List;

/** Gives each row of a sparse tensor that has no value a default one in its first column. */
final class SparseFillEmptyRows {
  static final Op OP =
      Op.define("SparseFillEmptyRows")
          .attr("T: type")
          .input("indices: int64")
          .input("values: T")
          .input("dense_shape: int64")
          .input("default_value: T")
          .output("output_indices: int64")
          .output("output_values: T")
          .output("empty_row_indicator: bool")
          .output("reverse_index_map: int64")
          .shape(SparseFillEmptyRows::infer)
          .kernel(SparseFillEmptyRows::compute)
          .gradient(SparseFillEmptyRows::gradient)
          .build();

  /** What goes back to the values that were there, and the sum for those filled in. */
  static final Op GRAD =
      Op.define("SparseFillEmptyRowsGrad")
          .attr("T: type")
          .input("reverse_index_map: int64")
          .input("grad_values: T")
          .output("d_values: T")
          .output("d_default_value: T")
          .shape(c -> List.of(c.inputOfRank(0, 1), Shape.scalar()))
          .kernelPerNode(SparseFillEmptyRows::gradKernel)
          .gradient(Gradient.undefined("TensorFlow has no second derivative of it either"))
          .build();

  private SparseFillEmptyRows() {}

  private static List<Shape> infer(ShapeContext c) {
    Shape indices = c.inputOfRank(0, 2);
    Shape values = c.inputOfRank(1, 1);
    c.inputOfRank(3, 0);
    Shape dims = c.inputOfRank(2, 1);
    Shape whole = c.constantAsShape(2);
    long rank = Shape.of(indices.dim(1)).mergeWith(dims).dim(0);
    long count = Shape.of(indices.dim(0)).mergeWith(values).dim(0);
    long rows = whole.hasRank() && whole.rank() > 0 ? whole.dim(0) : Shape.UNKNOWN;
    return List.of(
        Shape.of(Shape.UNKNOWN, rank), Shape.of(Shape.UNKNOWN), Shape.of(rows), Shape.of(count));
  }

  private static void compute(KernelContext c) {
    if (!c.input(3).shape().isScalar()) {
      throw MillraceException.invalid(
          "default_value must be a scalar, saw: %s", c.input(3).shape());
    }
    Coo in = Coo.of(c, 0);
    if (in.rank() == 0) {
      throw MillraceException.invalid("Dense shape cannot be empty.");
    }
    long rows = in.shape().dim(0);
    long n = in.count();
    if (rows == 0 && n > 0) {
      throw MillraceException.invalid(
          "Received SparseTensor with dense_shape[0] = 0 but indices.shape[0] = %d", n);
    }
    int[] ends = new int[Math.toIntExact(rows)];
    for (long i = 0; i < n; i++) {
      long row = in.at(i, 0);
      if (row < 0 || row >= rows) {
        throw MillraceException.invalid(
            "indices(%d, 0) is invalid: %d %s", i, row, row < 0 ? "< 0" : ">= " + rows);
      }
      ends[(int) row]++;
    }
    Tensor isEmpty = c.allocate(2, Shape.of(rows));
    int total = 0;
    for (int r = 0; r < ends.length; r++) {
      isEmpty.setLong(r, ends[r] == 0 ? 1 : 0);
      int count = Math.max(1, ends[r]);
      ends[r] = total;
      total += count;
    }
    // From here on ends[r] is where the next value of row r goes.
    Tensor indices = c.allocate(0, Shape.of(total, in.rank()));
    Tensor values = c.allocate(1, Shape.of(total));
    Tensor places = c.allocate(3, Shape.of(n));
    for (int r = 0; r < ends.length; r++) {
      if (isEmpty.longAt(r) != 0) {
        for (int d = 0; d < in.rank(); d++) {
          indices.setLong((long) ends[r] * in.rank() + d, d == 0 ? r : 0);
        }
        StridedCopy.copyRun(c.input(3), 0, values, ends[r], 1);
      }
    }
    for (long i = 0; i < n; i++) {
      int to = ends[(int) in.at(i, 0)]++;
      for (int d = 0; d < in.rank(); d++) {
        indices.setLong((long) to * in.rank() + d, in.at(i, d));
      }
      StridedCopy.copyRun(in.values(), i, values, to, 1);
      places.setLong(i, to);
    }
  }

  private static void gradient(GradientContext g) {
    Node back = g.scope().add(GRAD, g.output(3), g.dy(1));
    g.dx(1, back.output(0));
    g.dx(3, back.output(1));
  }

  private static Kernel gradKernel(Node node) {
    Coo.requireType(node, "T", DType.REAL);
    return c -> {
      Tensor places = c.input(0);
      Tensor dy = c.input(1);
      Coo.requireRank("reverse_index_map", "a vector", places, 1);
      Coo.requireRank("grad_values", "a vector", dy, 1);
      boolean[] given = new boolean[Math.toIntExact(dy.elements())];
      Tensor dx = c.allocate(0, places.shape());
      for (long i = 0; i < places.elements(); i++) {
        long p = places.longAt(i);
        if (p < 0 || p >= given.length) {
          throw MillraceException.invalid(
              "Elements in reverse index must be in [0, %d) but got %d", given.length, p);
        }
        given[(int) p] = true;
        StridedCopy.copyRun(dy, p, dx, i, 1);
      }
      Tensor filled = c.allocate(1, Shape.scalar());
      boolean floating = dy.dtype().isFloating();
      double sum = 0;
      long exact = 0;
      for (int p = 0; p < given.length; p++) {
        if (!given[p] && floating) {
          sum += dy.doubleAt(p);
        } else if (!given[p]) {
          exact += dy.longAt(p);
        }
      }
      if (floating) {
        filled.setDouble(0, sum);
      } else {
        filled.setLong(0, exact);
      }
    };
  }
}
