package dev.millrace.ops.sparse;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.GradientContext;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.ShapeContext;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Gather;
import dev.millrace.ops.array.Transpose;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.math.Reduction;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.elementwise.ElementCast;
import java.util.List;

/** The product of a sparse and a dense matrix, either of which may be taken transposed. */
final class SparseTensorDenseMatMul {
  static final Op OP =
      Op.define("SparseTensorDenseMatMul")
          .attr("T: type")
          .attr("Tindices: {int32, int64} = int64")
          .attr("adjoint_a: bool = false")
          .attr("adjoint_b: bool = false")
          .input("a_indices: Tindices")
          .input("a_values: T")
          .input("a_shape: int64")
          .input("b: T")
          .output("product: T")
          .shape(SparseTensorDenseMatMul::infer)
          .kernelPerNode(SparseTensorDenseMatMul::kernel)
          .gradient(SparseTensorDenseMatMul::gradient)
          .build();

  private SparseTensorDenseMatMul() {}

  private static List<Shape> infer(ShapeContext c) {
    boolean ta = c.node().booleanAttr("adjoint_a");
    boolean tb = c.node().booleanAttr("adjoint_b");
    c.inputOfRank(0, 2);
    c.inputOfRank(1, 1);
    Shape a = c.constantAsShape(2);
    Shape b = c.inputOfRank(3, 2);
    if (!a.hasRank()) {
      a = Shape.unknownOfRank(2);
    }
    if (a.rank() != 2) {
      throw MillraceException.invalid("Shape must be rank 2 but is rank %d", a.rank());
    }
    Shape.of(a.dim(ta ? 0 : 1)).mergeWith(Shape.of(b.dim(tb ? 1 : 0)));
    return List.of(Shape.of(a.dim(ta ? 1 : 0), b.dim(tb ? 0 : 1)));
  }

  private static Kernel kernel(Node node) {
    Coo.requireType(node, "T", DType.REAL);
    boolean ta = node.booleanAttr("adjoint_a");
    boolean tb = node.booleanAttr("adjoint_b");
    return c -> {
      Tensor b = c.input(3);
      if (b.shape().rank() != 2) {
        throw MillraceException.invalid("Tensor 'b' is not a matrix");
      }
      if (c.input(2).shape().rank() != 1 || c.input(2).elements() != 2) {
        throw MillraceException.invalid("Tensor 'a_shape' must have 2 elements");
      }
      Coo a = Coo.of(c, 0);
      long m = a.shape().dim(ta ? 1 : 0);
      long inner = a.shape().dim(ta ? 0 : 1);
      long n = b.shape().dim(tb ? 0 : 1);
      if (inner != b.shape().dim(tb ? 1 : 0)) {
        throw MillraceException.invalid(
            "Cannot multiply A and B because inner dimension does not match: %d vs. %d.  Did you"
                + " forget a transpose?  Dimensions of A: [%d, %d).  Dimensions of B: %s",
            inner, b.shape().dim(tb ? 1 : 0), a.shape().dim(0), a.shape().dim(1), b.shape());
      }
      Tensor out = c.allocate(0, Shape.of(m, n));
      boolean isShort = out.dtype() == DType.HALF || out.dtype() == DType.BFLOAT16;
      if (!isShort) {
        multiply(a, ta, b, tb, out);
        return;
      }
      // Sums of short floats are too coarse.
      Tensor wide = Refs.allocate(DType.FLOAT, out.shape());
      try {
        multiply(a, ta, b, tb, wide);
        ElementCast.run(wide, out);
      } finally {
        Refs.release(wide);
      }
    };
  }

  private static void multiply(Coo a, boolean ta, Tensor b, boolean tb, Tensor out) {
    out.data().fill((byte) 0);
    long n = out.shape().dim(1);
    long inner = b.shape().dim(tb ? 1 : 0);
    boolean floating = out.dtype().isFloating();
    for (long i = 0; i < a.count(); i++) {
      long row = a.at(i, ta ? 1 : 0);
      long k = a.at(i, ta ? 0 : 1);
      requireInside("m", row, i, ta ? 1 : 0, out.shape().dim(0));
      requireInside("k", k, i, ta ? 0 : 1, inner);
      for (long j = 0; j < n; j++) {
        long from = tb ? j * inner + k : k * n + j;
        long to = row * n + j;
        if (floating) {
          out.setDouble(to, out.doubleAt(to) + a.values().doubleAt(i) * b.doubleAt(from));
        } else {
          out.setLong(to, out.longAt(to) + a.values().longAt(i) * b.longAt(from));
        }
      }
    }
  }

  private static void requireInside(String what, long k, long i, int column, long size) {
    if (k < 0 || k >= size) {
      throw MillraceException.invalid(
          "%s (%d) from index[%d,%d] out of bounds (>=%d)", what, k, i, column, size);
    }
  }

  private static void gradient(GradientContext g) {
    Scope s = g.scope();
    boolean ta = g.node().booleanAttr("adjoint_a");
    boolean tb = g.node().booleanAttr("adjoint_b");
    Output db =
        s.node(OP)
            .input(g.input(0))
            .input(g.input(1))
            .input(g.input(2))
            .input(g.dy())
            .attr("adjoint_a", !ta)
            .add()
            .output();
    g.dx(3, tb ? Transpose.of(s, db, 1, 0) : db);
    Output ofA = Gather.of(s, g.dy(), column(s, g.input(0), ta ? 1 : 0));
    Output b = tb ? Transpose.of(s, g.input(3), 1, 0) : g.input(3);
    Output ofB = Gather.of(s, b, column(s, g.input(0), ta ? 0 : 1));
    g.dx(1, Reduction.sum(s, Arithmetic.mul(s, ofA, ofB), 1));
  }

  private static Output column(Scope s, Output matrix, int i) {
    return Gather.of(s, matrix, Const.of(s, i), 1);
  }
}
