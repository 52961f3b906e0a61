package dev.millrace.ops.linear;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.GradientContext;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.ShapeContext;
import dev.millrace.ops.array.ExpandDims;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.math.Unary;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.complex.Complex;
import dev.millrace.tensor.math.complex.ComplexElements;
import dev.millrace.tensor.math.linear.DenseMatrix;
import dev.millrace.tensor.math.linear.LuFactors;
import java.util.List;

/** Inverses and determinants of square matrices. */
final class Inverse {
  static final Op OP =
      Op.define("MatrixInverse")
          .attr("adjoint: bool = false")
          .attr(Matrices.TYPES)
          .input("input: T")
          .output("output: T")
          .shape(c -> List.of(Matrices.square(c.input(0))))
          .kernel(Inverse::compute)
          .gradient(Inverse::gradient)
          .build();

  private static final String TYPES = "T: {half, float, double, complex64, complex128}";

  static final Op DETERMINANT =
      Op.define("MatrixDeterminant")
          .attr(TYPES)
          .input("input: T")
          .output("output: T")
          .shape(c -> List.of(ofMatrices(c)))
          .kernel(Inverse::determinant)
          .gradient(
              g -> {
                Scope s = g.scope();
                Output factor = matrixOf(s, Arithmetic.mul(s, g.dy(), g.output(0)));
                g.dx(0, Arithmetic.mul(s, factor, inverse(s, g.input(0), true)));
              })
          .build();

  static final Op LOG_DETERMINANT =
      Op.define("LogMatrixDeterminant")
          .attr(TYPES)
          .input("input: T")
          .output("sign: T")
          .output("log_abs_determinant: T")
          .shape(
              c -> {
                Shape s = ofMatrices(c);
                return List.of(s, s);
              })
          .kernel(Inverse::logDeterminant)
          .gradient(
              g -> {
                Scope s = g.scope();
                Output inverse = inverse(s, g.input(0), true);
                g.dx(0, Arithmetic.mul(s, matrixOf(s, g.dy(1)), inverse));
              })
          .build();

  static final List<Op> ALL = List.of(OP, DETERMINANT, LOG_DETERMINANT);

  private Inverse() {}

  private static Output inverse(Scope s, Output x, boolean adjoint) {
    return s.node(OP).input(x).attr("adjoint", adjoint).add().output();
  }

  /** A number per matrix, with two dimensions of 1 behind. */
  private static Output matrixOf(Scope s, Output x) {
    return ExpandDims.of(s, ExpandDims.of(s, x, -1), -1);
  }

  private static void compute(KernelContext c) {
    Tensor a = c.input(0);
    boolean adjoint = c.node().booleanAttr("adjoint");
    Tensor out = c.allocate(0, Matrices.square(a.shape()));
    Matrices.each(
        a,
        i -> {
          DenseMatrix m = Matrices.matrix(a, i);
          LuFactors factors = LuFactors.of(adjoint ? m.adjoint() : m);
          if (factors.isSingular()) {
            throw MillraceException.invalid("Input is not invertible.");
          }
          factors.inverse().copyTo(out, i);
        });
  }

  private static void gradient(GradientContext g) {
    Scope s = g.scope();
    Output y = g.output(0);
    Output dy = g.dy();
    boolean adjoint = g.node().booleanAttr("adjoint");
    Output inner = Matrices.multiply(s, adjoint ? y : dy, adjoint ? dy : y, false, true);
    Output outer =
        adjoint
            ? Matrices.multiply(s, inner, y, false, false)
            : Matrices.multiply(s, y, inner, true, false);
    // -(y* dy y*); of the adjoint's inverse -(y dy* y).
    g.dx(0, Unary.neg(s, outer));
  }

  private static Shape ofMatrices(ShapeContext c) {
    Shape s = Matrices.square(c.input(0));
    return s.hasRank() ? Matrices.batch(s) : s;
  }

  private static void determinant(KernelContext c) {
    Tensor a = c.input(0);
    Tensor out = c.allocate(0, Matrices.batch(Matrices.square(a.shape())));
    Matrices.each(a, i -> set(out, i, LuFactors.of(Matrices.matrix(a, i)).determinant()));
  }

  private static void logDeterminant(KernelContext c) {
    Tensor a = c.input(0);
    Shape s = Matrices.batch(Matrices.square(a.shape()));
    Tensor sign = c.allocate(0, s);
    Tensor log = c.allocate(1, s);
    Matrices.each(
        a,
        i -> {
          LuFactors factors = LuFactors.of(Matrices.matrix(a, i));
          set(sign, i, factors.sign());
          set(log, i, new Complex(factors.logSize(), 0));
        });
  }

  private static void set(Tensor t, long i, Complex v) {
    if (t.dtype().isComplex()) {
      ComplexElements.set(t.dtype(), t.data(), i, v);
    } else {
      t.setDouble(i, v.re());
    }
  }
}
