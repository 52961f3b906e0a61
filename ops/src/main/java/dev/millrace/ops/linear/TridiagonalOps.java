package dev.millrace.ops.linear;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Gradient;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.ShapeContext;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.linear.DenseMatrix;
import dev.millrace.tensor.math.linear.Tridiagonal;
import java.util.List;

/** Equations and products with matrices of three diagonals. */
final class TridiagonalOps {
  private static final String TYPES = "T: {double, float, complex64, complex128}";

  static final Op SOLVE =
      Op.define("TridiagonalSolve")
          .attr("partial_pivoting: bool = true")
          .attr("perturb_singular: bool = false")
          .attr(TYPES)
          .input("diagonals: T")
          .input("rhs: T")
          .output("output: T")
          .shape(TridiagonalOps::inferSolve)
          .kernel(TridiagonalOps::solve)
          .gradient(Gradient.undefined("Millrace defines none"))
          .build();

  static final Op MULTIPLY =
      Op.define("TridiagonalMatMul")
          .attr(TYPES)
          .input("superdiag: T")
          .input("maindiag: T")
          .input("subdiag: T")
          .input("rhs: T")
          .output("output: T")
          .shape(TridiagonalOps::inferMultiply)
          .kernel(TridiagonalOps::multiply)
          .gradient(Gradient.undefined("Millrace defines none"))
          .build();

  static final List<Op> ALL = List.of(SOLVE, MULTIPLY);

  private TridiagonalOps() {}

  private static List<Shape> inferSolve(ShapeContext c) {
    Shape d = Matrices.checked(c.input(0));
    Shape b = Matrices.checked(c.input(1));
    return List.of(d.hasRank() && b.hasRank() ? checked(d, b) : Shape.unknown());
  }

  private static Shape checked(Shape d, Shape b) {
    if (d.rank() != b.rank() || !Matrices.batch(d).isCompatibleWith(Matrices.batch(b))) {
      throw MillraceException.invalid(
          "Batches of diagonals and right-hand sides differ: %s and %s", d, b);
    }
    if (d.dim(-2) >= 0 && d.dim(-2) != 3) {
      throw MillraceException.invalid(
          "Expected 3 diagonals, got %d: diagonals are %s.", d.dim(-2), d);
    }
    if (d.dim(-1) >= 0 && b.dim(-2) >= 0 && d.dim(-1) != b.dim(-2)) {
      throw MillraceException.invalid(
          "The length of diagonals and the number of rows of the right-hand side differ: %s and %s",
          d, b);
    }
    return Matrices.with(
        Matrices.batch(d).mergeWith(Matrices.batch(b)), Math.max(d.dim(-1), b.dim(-2)), b.dim(-1));
  }

  private static void solve(KernelContext c) {
    Tensor d = c.input(0);
    Tensor b = c.input(1);
    boolean pivoting = c.node().booleanAttr("partial_pivoting");
    if (c.node().booleanAttr("perturb_singular")) {
      throw MillraceException.invalid("perturb_singular is not supported on CPUs.");
    }
    Tensor x = c.allocate(0, checked(Matrices.checked(d.shape()), Matrices.checked(b.shape())));
    if (x.elements() == 0) {
      return;
    }
    Matrices.each(
        b,
        i -> {
          DenseMatrix found =
              Tridiagonal.solve(Matrices.matrix(d, i), Matrices.matrix(b, i), pivoting);
          if (found == null) {
            throw MillraceException.invalid(
                pivoting
                    ? "The matrix is not invertible."
                    : "The matrix is either not invertible, or requires pivoting. Try setting"
                        + " partial_pivoting = True.");
          }
          found.copyTo(x, i);
        });
  }

  private static List<Shape> inferMultiply(ShapeContext c) {
    for (int i = 0; i < 3; i++) {
      Matrices.checked(c.input(i));
    }
    return List.of(Matrices.checked(c.input(3)));
  }

  private static void multiply(KernelContext c) {
    Tensor b = c.input(3);
    Shape s = Matrices.checked(b.shape());
    Shape diagonal = Matrices.with(Matrices.batch(s), 1, s.dim(-2));
    for (int i = 0; i < 3; i++) {
      if (!c.input(i).shape().equals(diagonal)) {
        throw MillraceException.invalid(
            "Input %d must have shape %s, as the right-hand side is %s; it has %s.",
            i, diagonal, s, c.input(i).shape());
      }
    }
    Tensor x = c.allocate(0, s);
    Matrices.each(
        b,
        i ->
            Tridiagonal.multiply(
                    Matrices.matrix(c.input(0), i),
                    Matrices.matrix(c.input(1), i),
                    Matrices.matrix(c.input(2), i),
                    Matrices.matrix(b, i))
                .copyTo(x, i));
  }
}
