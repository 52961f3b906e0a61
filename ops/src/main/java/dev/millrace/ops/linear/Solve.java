package dev.millrace.ops.linear;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Gradient;
import dev.millrace.graph.GradientContext;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.ShapeContext;
import dev.millrace.ops.array.BroadcastGradient;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.math.Unary;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.elementwise.BroadcastIndex;
import dev.millrace.tensor.math.linear.DenseMatrix;
import dev.millrace.tensor.math.linear.LeastSquares;
import dev.millrace.tensor.math.linear.LuFactors;
import dev.millrace.tensor.math.linear.Triangular;
import java.util.List;

/** Systems of linear equations, with a matrix per batch. */
final class Solve {
  static final Op OP =
      Op.define("MatrixSolve")
          .attr("adjoint: bool = false")
          .attr(Matrices.TYPES)
          .input("matrix: T")
          .input("rhs: T")
          .output("output: T")
          .shape(c -> infer(c, false))
          .kernel(Solve::compute)
          .gradient(Solve::gradient)
          .build();

  static final Op TRIANGULAR =
      Op.define("MatrixTriangularSolve")
          .attr("lower: bool = true")
          .attr("adjoint: bool = false")
          .attr("T: {bfloat16, double, float, half, complex64, complex128}")
          .input("matrix: T")
          .input("rhs: T")
          .output("output: T")
          .shape(c -> infer(c, true))
          .kernel(Solve::triangular)
          .gradient(Solve::triangularGradient)
          .build();

  static final Op LEAST_SQUARES =
      Matrices.define("MatrixSolveLs")
          .attr("fast: bool = true")
          .input("matrix: T")
          .input("rhs: T")
          .input("l2_regularizer: double")
          .output("output: T")
          .shape(Solve::inferLeastSquares)
          .kernel(Solve::leastSquares)
          .gradient(Gradient.undefined("Millrace defines none"))
          .build();

  static final List<Op> ALL = List.of(OP, TRIANGULAR, LEAST_SQUARES);

  private Solve() {}

  /** Adds the solution of triangular systems, of the adjoint matrices if so wanted. */
  static Output triangular(Scope s, Output matrix, Output rhs, boolean lower, boolean adjoint) {
    return s.node(TRIANGULAR)
        .input(matrix)
        .input(rhs)
        .attr("lower", lower)
        .attr("adjoint", adjoint)
        .add()
        .output();
  }

  /** The conjugates of the transposed matrices. */
  static Output adjoint(Scope s, Output x) {
    // Solving with a unit matrix would do; so does a permutation, once the rank is known.
    if (!x.shape().hasRank()) {
      throw MillraceException.invalid(
          "The gradient of '%s' needs to know the rank of its matrices.", x.name());
    }
    int[] order = new int[x.shape().rank()];
    for (int i = 0; i < order.length; i++) {
      order[i] = i;
    }
    order[order.length - 1] = order.length - 2;
    order[order.length - 2] = order.length - 1;
    String op = x.dtype().isComplex() ? "ConjugateTranspose" : "Transpose";
    return s.node(op).input(x).input(Const.ints(s, order)).add().output();
  }

  private static List<Shape> infer(ShapeContext c, boolean broadcasts) {
    Shape a = Matrices.square(c.input(0));
    Shape b = Matrices.checked(c.input(1));
    if (!a.hasRank() || !b.hasRank()) {
      return List.of(Shape.unknown());
    }
    return List.of(result(a, b, broadcasts));
  }

  private static Shape result(Shape a, Shape b, boolean broadcasts) {
    Shape batchA = Matrices.batch(a);
    Shape batchB = Matrices.batch(b);
    if (!broadcasts && (batchA.rank() != batchB.rank() || !batchA.isCompatibleWith(batchB))) {
      throw MillraceException.invalid(
          "Batches of matrices and right-hand sides differ: %s and %s", a, b);
    }
    Shape batch = broadcasts ? Shape.broadcast(batchA, batchB) : batchA.mergeWith(batchB);
    if (a.dim(-1) >= 0 && b.dim(-2) >= 0 && a.dim(-1) != b.dim(-2)) {
      throw MillraceException.invalid("Input matrix and rhs are incompatible: %s and %s", a, b);
    }
    return Matrices.with(batch, Math.max(a.dim(-1), b.dim(-2)), b.dim(-1));
  }

  private static void compute(KernelContext c) {
    Tensor a = c.input(0);
    Tensor b = c.input(1);
    boolean adjoint = c.node().booleanAttr("adjoint");
    Shape s = result(Matrices.square(a.shape()), Matrices.checked(b.shape()), false);
    Tensor x = c.allocate(0, s);
    if (x.elements() == 0) {
      return;
    }
    Matrices.each(
        a,
        i -> {
          DenseMatrix m = Matrices.matrix(a, i);
          LuFactors factors = LuFactors.of(adjoint ? m.adjoint() : m);
          if (factors.isSingular()) {
            throw MillraceException.invalid("Input matrix is not invertible.");
          }
          factors.solve(Matrices.matrix(b, i)).copyTo(x, i);
        });
  }

  private static void triangular(KernelContext c) {
    Tensor a = c.input(0);
    Tensor b = c.input(1);
    boolean lower = c.node().booleanAttr("lower");
    boolean adjoint = c.node().booleanAttr("adjoint");
    Shape s = result(Matrices.square(a.shape()), Matrices.checked(b.shape()), true);
    Tensor x = c.allocate(0, s);
    if (x.elements() == 0) {
      return;
    }
    BroadcastIndex ofA = new BroadcastIndex(Matrices.batch(a.shape()), Matrices.batch(s));
    BroadcastIndex ofB = new BroadcastIndex(Matrices.batch(b.shape()), Matrices.batch(s));
    Matrices.each(
        x,
        i -> {
          DenseMatrix m = Matrices.matrix(a, ofA.of(i));
          DenseMatrix t = adjoint ? m.adjoint() : m;
          Triangular.solve(t, lower != adjoint, Matrices.matrix(b, ofB.of(i))).copyTo(x, i);
        });
  }

  private static void gradient(GradientContext g) {
    Scope s = g.scope();
    boolean adjoint = g.node().booleanAttr("adjoint");
    Output x = g.output(0);
    Output db = s.node(OP).input(g.input(0)).input(g.dy()).attr("adjoint", !adjoint).add().output();
    Output da =
        adjoint
            ? Matrices.multiply(s, x, db, false, true)
            : Matrices.multiply(s, db, x, false, true);
    g.dx(0, Unary.neg(s, da));
    g.dx(1, db);
  }

  private static void triangularGradient(GradientContext g) {
    Scope s = g.scope();
    boolean lower = g.node().booleanAttr("lower");
    boolean adjoint = g.node().booleanAttr("adjoint");
    Output a = g.input(0);
    Output b = g.input(1);
    Output x = g.output(0);
    Output db = triangular(s, a, g.dy(), lower, !adjoint);
    Output da =
        adjoint
            ? Matrices.multiply(s, x, db, false, true)
            : Matrices.multiply(s, db, x, false, true);
    Output band =
        s.node("MatrixBandPart")
            .input(Unary.neg(s, da))
            .input(Const.of(s, lower ? -1L : 0L))
            .input(Const.of(s, lower ? 0L : -1L))
            .add()
            .output();
    g.dx(0, BroadcastGradient.reduce(s, band, a, b, 2));
    g.dx(1, BroadcastGradient.reduce(s, db, b, a, 2));
  }

  private static List<Shape> inferLeastSquares(ShapeContext c) {
    Shape a = Matrices.checked(c.input(0));
    Shape b = Matrices.checked(c.input(1));
    c.inputOfRank(2, 0);
    if (!a.hasRank() || !b.hasRank()) {
      return List.of(Shape.unknown());
    }
    return List.of(leastSquares(a, b));
  }

  private static Shape leastSquares(Shape a, Shape b) {
    if (!a.slice(0, a.rank() - 1).isCompatibleWith(b.slice(0, b.rank() - 1))) {
      throw MillraceException.invalid("Input matrix and rhs are incompatible: %s and %s", a, b);
    }
    Shape batch = Matrices.batch(a).mergeWith(Matrices.batch(b));
    return Matrices.with(batch, a.dim(-1), b.dim(-1));
  }

  private static void leastSquares(KernelContext c) {
    Tensor a = c.input(0);
    Tensor b = c.input(1);
    if (!c.input(2).shape().isScalar()) {
      throw MillraceException.invalid(
          "regularizer must be scalar, got shape %s", c.input(2).shape());
    }
    double l2 = c.input(2).doubleAt(0);
    if (l2 < 0) {
      throw MillraceException.invalid("regularizer must be >= 0");
    }
    boolean fast = c.node().booleanAttr("fast");
    Tensor x =
        c.allocate(0, leastSquares(Matrices.checked(a.shape()), Matrices.checked(b.shape())));
    if (x.elements() == 0) {
      return;
    }
    Matrices.each(
        x,
        i -> {
          DenseMatrix m = Matrices.matrix(a, i);
          DenseMatrix rhs = Matrices.matrix(b, i);
          DenseMatrix found =
              fast ? LeastSquares.normal(m, rhs, l2) : LeastSquares.shortest(m, rhs);
          if (found == null) {
            throw MillraceException.invalid(
                "Input matrix was rank deficient or ill-conditioned. Try setting fast=False or"
                    + " provide a larger l2_regularizer > 0.");
          }
          found.copyTo(x, i);
        });
  }
}
