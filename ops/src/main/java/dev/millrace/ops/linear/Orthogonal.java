package dev.millrace.ops.linear;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Gradient;
import dev.millrace.graph.GradientContext;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.ShapeContext;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.ZerosLike;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.complex.Complex;
import dev.millrace.tensor.math.complex.ComplexElements;
import dev.millrace.tensor.math.linear.DenseMatrix;
import dev.millrace.tensor.math.linear.Eigenvalues;
import dev.millrace.tensor.math.linear.QrFactors;
import dev.millrace.tensor.math.linear.SingularValues;
import java.util.List;

/** Factors with orthogonal columns: QR, singular values, and eigenvalues of adjoint matrices. */
final class Orthogonal {
  static final Op QR =
      Op.define("Qr")
          .attr("full_matrices: bool = false")
          .attr(Matrices.TYPES)
          .input("input: T")
          .output("q: T")
          .output("r: T")
          .shape(Orthogonal::inferQr)
          .kernel(Orthogonal::qr)
          .gradient(Orthogonal::qrGradient)
          .build();

  static final Op SVD =
      Op.define("Svd")
          .attr("compute_uv: bool = true")
          .attr("full_matrices: bool = false")
          .attr(Matrices.TYPES)
          .input("input: T")
          .output("s: T")
          .output("u: T")
          .output("v: T")
          .shape(Orthogonal::inferSvd)
          .kernel(Orthogonal::svd)
          .gradient(Gradient.undefined("Millrace defines none"))
          .build();

  static final Op EIGEN =
      Op.define("SelfAdjointEigV2")
          .attr("compute_v: bool = true")
          .attr(Matrices.TYPES)
          .input("input: T")
          .output("e: T")
          .output("v: T")
          .shape(Orthogonal::inferEigen)
          .kernel(Orthogonal::eigen)
          .gradient(Gradient.undefined("Millrace defines none"))
          .build();

  static final List<Op> ALL = List.of(QR, SVD, EIGEN);

  private Orthogonal() {}

  private static List<Shape> inferQr(ShapeContext c) {
    Shape s = Matrices.checked(c.input(0));
    boolean full = c.node().booleanAttr("full_matrices");
    return s.hasRank() ? List.of(q(s, full), r(s, full)) : List.of(s, s);
  }

  private static long least(Shape s) {
    return Math.min(s.dim(-1), s.dim(-2));
  }

  private static Shape q(Shape s, boolean full) {
    return s.withDim(s.rank() - 1, full ? s.dim(-2) : least(s));
  }

  private static Shape r(Shape s, boolean full) {
    return s.withDim(s.rank() - 2, full ? s.dim(-2) : least(s));
  }

  private static void qr(KernelContext c) {
    Tensor a = c.input(0);
    Shape s = Matrices.checked(a.shape());
    boolean full = c.node().booleanAttr("full_matrices");
    Tensor q = c.allocate(0, q(s, full));
    Tensor r = c.allocate(1, r(s, full));
    Matrices.each(
        a,
        i -> {
          QrFactors factors = QrFactors.of(Matrices.matrix(a, i));
          factors.q().part(Matrices.rows(q), Matrices.columns(q)).copyTo(q, i);
          factors.r().part(Matrices.rows(r), Matrices.columns(r)).copyTo(r, i);
        });
  }

  /** For at least as many rows as columns; Q and R of the reduced kind, or square matrices. */
  private static void qrGradient(GradientContext g) {
    Shape a = g.input(0).shape();
    boolean full = g.node().booleanAttr("full_matrices");
    if (!a.hasRank() || a.dim(-1) < 0 || a.dim(-2) < a.dim(-1) || (full && least(a) != a.dim(-2))) {
      Gradient.undefined(
              "it is known only where the shape is known to have as many columns as rows, or fewer"
                  + " and full_matrices is false")
          .build(g);
    }
    Scope s = g.scope();
    Output q = g.output(0);
    Output r = g.output(1);
    Output qdq = Matrices.multiply(s, q, g.dy(0), true, false);
    Output rdr = Matrices.multiply(s, r, g.dy(1), false, true);
    Output left = Arithmetic.sub(s, qdq, Solve.adjoint(s, qdq));
    Output right = Arithmetic.sub(s, rdr, Solve.adjoint(s, rdr));
    Output lower = below(s, Arithmetic.add(s, left, right));
    Output inside =
        Matrices.multiply(s, q, Arithmetic.add(s, g.dy(1), solved(s, lower, r)), false, false);
    Output outside = Arithmetic.sub(s, g.dy(0), Matrices.multiply(s, q, qdq, false, false));
    g.dx(0, Arithmetic.add(s, inside, solved(s, outside, r)));
  }

  /** {@code x r^-*} with the upper triangular r. */
  private static Output solved(Scope s, Output x, Output r) {
    return Solve.adjoint(s, Solve.triangular(s, r, Solve.adjoint(s, x), false, false));
  }

  /** What stands below the diagonal. */
  private static Output below(Scope s, Output x) {
    Output band =
        s.node("MatrixBandPart")
            .input(x)
            .input(Const.of(s, -1L))
            .input(Const.of(s, 0L))
            .add()
            .output();
    Output diagonal = s.node("MatrixDiagPart").input(band).add().output();
    return s.node("MatrixSetDiag").input(band).input(ZerosLike.of(s, diagonal)).add().output();
  }

  private static List<Shape> inferSvd(ShapeContext c) {
    Shape s = Matrices.checked(c.input(0));
    boolean vectors = c.node().booleanAttr("compute_uv");
    boolean full = c.node().booleanAttr("full_matrices");
    if (!s.hasRank()) {
      return vectors ? List.of(s, s, s) : List.of(s, Shape.of(0), Shape.of(0));
    }
    Shape values = Matrices.batch(s).concat(Shape.of(least(s)));
    return vectors
        ? List.of(values, u(s, full), v(s, full))
        : List.of(values, Shape.of(0), Shape.of(0));
  }

  private static Shape u(Shape s, boolean full) {
    return Matrices.with(Matrices.batch(s), s.dim(-2), full ? s.dim(-2) : least(s));
  }

  private static Shape v(Shape s, boolean full) {
    return Matrices.with(Matrices.batch(s), s.dim(-1), full ? s.dim(-1) : least(s));
  }

  private static void svd(KernelContext c) {
    Tensor a = c.input(0);
    Shape s = Matrices.checked(a.shape());
    boolean vectors = c.node().booleanAttr("compute_uv");
    boolean full = c.node().booleanAttr("full_matrices");
    Tensor values = c.allocate(0, Matrices.batch(s).concat(Shape.of(least(s))));
    Tensor u = c.allocate(1, vectors ? u(s, full) : Shape.of(0));
    Tensor v = c.allocate(2, vectors ? v(s, full) : Shape.of(0));
    Matrices.each(
        a,
        i -> {
          SingularValues found = SingularValues.of(Matrices.matrix(a, i), full && vectors);
          set(values, i, found.values());
          if (vectors) {
            found.u().copyTo(u, i);
            found.v().copyTo(v, i);
          }
        });
  }

  private static void set(Tensor values, long index, double[] found) {
    for (int k = 0; k < found.length; k++) {
      long at = index * found.length + k;
      if (values.dtype().isComplex()) {
        ComplexElements.set(values.dtype(), values.data(), at, new Complex(found[k], 0));
      } else {
        values.setDouble(at, found[k]);
      }
    }
  }

  private static List<Shape> inferEigen(ShapeContext c) {
    Shape s = Matrices.square(c.input(0));
    Shape values = s.hasRank() ? s.slice(0, s.rank() - 1) : s;
    return List.of(values, c.node().booleanAttr("compute_v") ? s : Shape.of(0));
  }

  private static void eigen(KernelContext c) {
    Tensor a = c.input(0);
    Shape s = Matrices.square(a.shape());
    boolean vectors = c.node().booleanAttr("compute_v");
    Tensor e = c.allocate(0, s.slice(0, s.rank() - 1));
    Tensor v = c.allocate(1, vectors ? s : Shape.of(0));
    Matrices.each(
        a,
        i -> {
          DenseMatrix m = Matrices.matrix(a, i);
          if (!m.isFinite()) {
            throw MillraceException.invalid(
                "Self-adjoint eigen decomposition was not successful. The input might not be"
                    + " valid.");
          }
          Eigenvalues found = Eigenvalues.of(m);
          set(e, i, found.values());
          if (vectors) {
            found.vectors().copyTo(v, i);
          }
        });
  }
}
