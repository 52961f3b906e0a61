package dev.millrace.ops.sparse;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Gradient;
import dev.millrace.graph.GradientContext;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.ops.array.GatherNd;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.StridedCopy;
import java.util.List;

/** Sums of two sparse tensors, and of a sparse and a dense one. */
final class SparseSum {
  /** Where both have a value, a sum that is nearer to zero than the threshold is left out. */
  static final Op ADD =
      Op.define("SparseAdd")
          .attr("T: numbertype")
          .attr("Treal: realnumbertype")
          .input("a_indices: int64")
          .input("a_values: T")
          .input("a_shape: int64")
          .input("b_indices: int64")
          .input("b_values: T")
          .input("b_shape: int64")
          .input("thresh: Treal")
          .output("sum_indices: int64")
          .output("sum_values: T")
          .output("sum_shape: int64")
          .shape(
              c -> {
                Shape dims = c.inputOfRank(2, 1);
                return List.of(Shape.of(Shape.UNKNOWN, dims.dim(0)), Shape.of(Shape.UNKNOWN), dims);
              })
          .kernelPerNode(SparseSum::add)
          .gradient(SparseSum::addGradient)
          .build();

  static final Op ADD_GRAD =
      Op.define("SparseAddGrad")
          .attr("T: numbertype")
          .input("backprop_val_grad: T")
          .input("a_indices: int64")
          .input("b_indices: int64")
          .input("sum_indices: int64")
          .output("a_val_grad: T")
          .output("b_val_grad: T")
          .shape(
              c ->
                  List.of(
                      Shape.of(c.inputOfRank(1, 2).dim(0)), Shape.of(c.inputOfRank(2, 2).dim(0))))
          .kernelPerNode(SparseSum::addGrad)
          .gradient(Gradient.undefined("TensorFlow has no second derivative of it either"))
          .build();

  static final Op ADD_DENSE =
      Op.define("SparseTensorDenseAdd")
          .attr("T: numbertype")
          .attr("Tindices: {int32, int64}")
          .input("a_indices: Tindices")
          .input("a_values: T")
          .input("a_shape: Tindices")
          .input("b: T")
          .output("output: T")
          .shape(c -> List.of(c.input(3)))
          .kernelPerNode(SparseSum::addDense)
          .gradient(
              g -> {
                g.dx(1, GatherNd.of(g.scope(), g.dy(), g.input(0)));
                g.dx(3, g.dy());
              })
          .build();

  static final List<Op> ALL = List.of(ADD, ADD_GRAD, ADD_DENSE);

  private SparseSum() {}

  private static Kernel add(Node node) {
    Coo.requireType(node, "T", DType.REAL);
    return c -> {
      Coo a = Coo.of(c, 0);
      Coo b = Coo.of(c, 3);
      if (a.rank() != b.rank()) {
        throw MillraceException.invalid(
            "Ranks of input tensors must match, but saw ranks: %d and %d", a.rank(), b.rank());
      }
      for (int d = 0; d < a.rank(); d++) {
        if (a.shape().dim(d) != b.shape().dim(d)) {
          throw MillraceException.invalid(
              "Input shapes must match: got %d and %d for dimension %d",
              a.shape().dim(d), b.shape().dim(d), d);
        }
      }
      if (!c.input(6).shape().isScalar()) {
        throw MillraceException.invalid(
            "The magnitude threshold must be a scalar: got shape %s", c.input(6).shape());
      }
      merge(c, a, b, c.input(6));
    };
  }

  /** Both are taken to be in order; what is in both at one place is added. */
  private static void merge(KernelContext c, Coo a, Coo b, Tensor threshold) {
    long most = a.count() + b.count();
    Tensor at = Refs.allocate(DType.INT64, Shape.of(most, a.rank()));
    Tensor sums = Refs.allocate(a.values().dtype(), Shape.of(most));
    try {
      long i = 0;
      long j = 0;
      long n = 0;
      while (i < a.count() || j < b.count()) {
        int order = i == a.count() ? 1 : j == b.count() ? -1 : compare(a, i, b, j);
        Coo from = order <= 0 ? a : b;
        long k = order <= 0 ? i : j;
        StridedCopy.copyRun(from.indices(), k * a.rank(), at, n * a.rank(), a.rank());
        StridedCopy.copyRun(from.values(), k, sums, n, 1);
        if (order == 0) {
          increase(sums, n, b.values(), j);
        }
        i += order <= 0 ? 1 : 0;
        j += order >= 0 ? 1 : 0;
        n += order != 0 || isAtLeast(sums, n, threshold) ? 1 : 0;
      }
      StridedCopy.copyRun(at, 0, c.allocate(0, Shape.of(n, a.rank())), 0, n * a.rank());
      StridedCopy.copyRun(sums, 0, c.allocate(1, Shape.of(n)), 0, n);
    } finally {
      Refs.release(at);
      Refs.release(sums);
    }
    Coo.putShape(c, 2, a.shape());
  }

  private static int compare(Coo a, long i, Coo b, long j) {
    for (int d = 0; d < a.rank(); d++) {
      int order = Long.compare(a.at(i, d), b.at(j, d));
      if (order != 0) {
        return order;
      }
    }
    return 0;
  }

  private static boolean isAtLeast(Tensor t, long i, Tensor threshold) {
    return t.dtype().isFloating() || threshold.dtype().isFloating()
        ? Math.abs(t.doubleAt(i)) >= threshold.doubleAt(0)
        : Math.abs(t.longAt(i)) >= threshold.longAt(0);
  }

  /** Adds element {@code j} of {@code by} to element {@code i} of {@code t}. */
  static void increase(Tensor t, long i, Tensor by, long j) {
    if (t.dtype().isFloating()) {
      t.setDouble(i, t.doubleAt(i) + by.doubleAt(j));
    } else {
      t.setLong(i, t.longAt(i) + by.longAt(j));
    }
  }

  private static void addGradient(GradientContext g) {
    Node back = g.scope().add(ADD_GRAD, g.dy(1), g.input(0), g.input(3), g.output(0));
    back.output(0).refineShape(g.input(1).shape());
    back.output(1).refineShape(g.input(4).shape());
    g.dx(1, back.output(0));
    g.dx(4, back.output(1));
  }

  private static Kernel addGrad(Node node) {
    Coo.requireType(node, "T", DType.REAL);
    return c -> {
      Tensor dy = c.input(0);
      Coo.requireRank("backprop_val_grad", "a vector", dy, 1);
      for (int i = 1; i < 4; i++) {
        Coo.requireRank(c.node().op().inputs().get(i).name(), "a matrix", c.input(i), 2);
        if (c.input(i).shape().dim(1) != c.input(1).shape().dim(1)) {
          throw MillraceException.invalid(
              "The densified tensors should have the same ndims; got: %d and %d",
              c.input(1).shape().dim(1), c.input(i).shape().dim(1));
        }
      }
      Tensor sum = c.input(3);
      if (dy.elements() != sum.shape().dim(0)) {
        throw MillraceException.invalid(
            "# elements in backprop_val_grad and # rows in sum_indices should match (#nnz of sum):"
                + " got %d and %d",
            dy.elements(), sum.shape().dim(0));
      }
      for (int i = 0; i < 2; i++) {
        Tensor at = c.input(1 + i);
        Tensor dx = c.allocate(i, Shape.of(at.shape().dim(0)));
        dx.data().fill((byte) 0);
        long k = 0;
        for (long j = 0; j < dx.elements(); j++) {
          while (k < dy.elements() && compare(sum, k, at, j) < 0) {
            k++;
          }
          if (k < dy.elements() && compare(sum, k, at, j) == 0) {
            StridedCopy.copyRun(dy, k, dx, j, 1);
          }
        }
      }
    };
  }

  private static int compare(Tensor a, long i, Tensor b, long j) {
    long rank = a.shape().dim(1);
    for (long d = 0; d < rank; d++) {
      int order = Long.compare(a.longAt(i * rank + d), b.longAt(j * rank + d));
      if (order != 0) {
        return order;
      }
    }
    return 0;
  }

  private static Kernel addDense(Node node) {
    Coo.requireType(node, "T", DType.REAL);
    return c -> {
      Coo a = Coo.of(c, 0);
      Tensor b = c.input(3);
      if (a.rank() != b.shape().rank()) {
        throw MillraceException.invalid(
            "Two operands have different ranks; received: %d and %d", a.rank(), b.shape().rank());
      }
      for (int d = 0; d < a.rank(); d++) {
        if (a.shape().dim(d) != b.shape().dim(d)) {
          throw MillraceException.invalid(
              "Dimension %d does not equal (no broadcasting is supported): sparse side %d vs dense"
                  + " side %d",
              d, a.shape().dim(d), b.shape().dim(d));
        }
      }
      Tensor out = c.allocate(0, b.shape());
      StridedCopy.copyRun(b, 0, out, 0, b.elements());
      for (long i = 0; i < a.count(); i++) {
        if (!a.isInside(i)) {
          throw MillraceException.invalid(
              "Sparse tensor has an invalid index %s: it is outside shape %s",
              a.coordinates(i), a.shape());
        }
        increase(out, a.position(i), a.values(), i);
      }
    };
  }
}
