package dev.millrace.ops.linear;

import dev.millrace.graph.GradientContext;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.linear.DenseMatrix;
import dev.millrace.tensor.math.linear.Triangular;
import java.util.List;

/** The lower triangular factor of a positive definite matrix. */
final class Cholesky {
  static final Op OP =
      Matrices.define("Cholesky")
          .input("input: T")
          .output("output: T")
          .shape(c -> List.of(Matrices.square(c.input(0))))
          .kernel(Cholesky::compute)
          .gradient(Cholesky::gradient)
          .build();

  private Cholesky() {}

  private static void compute(KernelContext c) {
    Tensor a = c.input(0);
    Tensor out = c.allocate(0, Matrices.square(a.shape()));
    Matrices.each(
        a,
        i -> {
          DenseMatrix factor = Triangular.cholesky(Matrices.matrix(a, i));
          // TensorFlow 2 does not fail without a factor either, but leaves memory as it was.
          int n = Matrices.rows(a);
          (factor == null ? DenseMatrix.filled(n, n, Double.NaN) : factor).copyTo(out, i);
        });
  }

  /** With P the lower triangle of L* dL, its diagonal halved: half of L^-* (P + P*) L^-1. */
  private static void gradient(GradientContext g) {
    Scope s = g.scope();
    Output l = g.output(0);
    Output product = Matrices.multiply(s, l, g.dy(), true, false);
    Output diagonal = s.node("MatrixDiagPart").input(product).add().output();
    Output lower =
        s.node("MatrixBandPart")
            .input(product)
            .input(Const.of(s, -1L))
            .input(Const.of(s, 0L))
            .add()
            .output();
    Output half = Arithmetic.scaled(s, diagonal, 0.5);
    Output p = s.node("MatrixSetDiag").input(lower).input(half).add().output();
    // x = L^-* P, then (L^-* x*)* = x L^-1.
    Output left = Solve.triangular(s, l, p, true, true);
    Output right = Solve.triangular(s, l, Solve.adjoint(s, left), true, true);
    Output dx = Arithmetic.add(s, Solve.adjoint(s, right), right);
    g.dx(0, Arithmetic.scaled(s, dx, 0.5));
  }
}
