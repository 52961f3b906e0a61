package dev.millrace.interop.conformance.cases;

import dev.millrace.base.Code;
import dev.millrace.interop.conformance.CaseTable;
import dev.millrace.interop.conformance.Kernels;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.complex.Complex;
import dev.millrace.tensor.math.complex.ComplexElements;
import java.util.List;

/** Linear algebra. Vectors whose signs are free are compared by their shapes alone. */
public final class LinearCases extends CaseTable {
  /** TensorFlow computes in the precision of the type, this engine always in double. */
  private static final double SLACK = 60;

  public LinearCases() {
    for (DType dtype : Kernels.types("Cholesky", "T")) {
      op("Cholesky", definite(dtype, 3)).slack(SLACK).gradientByDifferences().noGradient();
      op("Cholesky", any(dtype, 0, 3, 3));
      op("SelfAdjointEigV2", definite(dtype, 4)).unchecked(1).slack(SLACK).noGradient();
      op("SelfAdjointEigV2", any(dtype, 0, 2, 2)).noGradient();
    }
    op("Cholesky", doubles(2, 3)).fails(Code.INVALID_ARGUMENT);
    op("SelfAdjointEigV2", doubles(2, 3)).fails(Code.INVALID_ARGUMENT);
    squares();
    orthogonal();
    equations();
  }

  private void squares() {
    for (String op : List.of("MatrixInverse", "MatrixDeterminant", "LogMatrixDeterminant", "Lu")) {
      for (DType dtype : Kernels.types(op, "T")) {
        var c = op(op, regular(dtype, 2, 3)).slack(SLACK);
        var one = op(op, regular(dtype, 1, 1)).slack(SLACK);
        if (op.equals("Lu")) {
          c.noGradient();
          one.noGradient();
        }
      }
      op(op, doubles(2, 3)).fails(Code.INVALID_ARGUMENT);
      op(op, doubles(0, 2, 2)).noGradient();
    }
    op("MatrixInverse", regular(DType.DOUBLE, 2, 3)).with("adjoint", true).slack(SLACK);
    op("MatrixInverse", Tensor.of(Shape.of(2, 2), 1.0, 2, 2, 4)).fails(Code.INVALID_ARGUMENT);
    op("Lu", Tensor.of(Shape.of(2, 2), 1.0, 2, 2, 4)).fails(Code.INVALID_ARGUMENT);
  }

  private void orthogonal() {
    for (DType dtype : Kernels.types("Qr", "T")) {
      for (boolean full : List.of(false, true)) {
        op("Qr", any(dtype, 2, 4, 3)).with("full_matrices", full).slack(SLACK).noGradient();
        op("Qr", any(dtype, 3, 4)).with("full_matrices", full).slack(SLACK).noGradient();
      }
      op("Qr", any(dtype, 0, 2, 2)).noGradient();
    }
    for (DType dtype : Kernels.types("Svd", "T")) {
      for (boolean full : List.of(false, true)) {
        op("Svd", any(dtype, 2, 4, 3))
            .with("full_matrices", full)
            .unchecked(1, 2)
            .slack(SLACK)
            .noGradient();
        op("Svd", any(dtype, 3, 4))
            .with("full_matrices", full)
            .unchecked(1, 2)
            .slack(SLACK)
            .noGradient();
      }
      op("Svd", any(dtype, 0, 2, 2)).noGradient();
    }
    op("Qr", doubles(4, 3)).slack(SLACK);
    op("Qr", doubles(3)).fails(Code.INVALID_ARGUMENT);
    op("Svd", doubles(3)).fails(Code.INVALID_ARGUMENT);
  }

  private void equations() {
    for (DType dtype : Kernels.types("MatrixSolve", "T")) {
      for (boolean adjoint : List.of(false, true)) {
        op("MatrixSolve", regular(dtype, 2, 3), any(dtype, 2, 3, 2))
            .with("adjoint", adjoint)
            .slack(SLACK);
      }
      op("MatrixSolveLs", any(dtype, 4, 3), any(dtype, 4, 2), Tensor.scalar(0.5))
          .slack(SLACK * 4)
          .noGradient();
      op("MatrixSolveLs", any(dtype, 2, 3), any(dtype, 2, 2), Tensor.scalar(0.0))
          .with("fast", false)
          .slack(SLACK * 4)
          .noGradient();
    }
    op("MatrixSolve", doubles(0, 3, 3), doubles(0, 3, 2));
    op("MatrixSolve", doubles(3, 3), doubles(2, 2)).fails(Code.INVALID_ARGUMENT);
    op("MatrixSolveLs", doubles(0, 4, 3), doubles(0, 4, 2), Tensor.scalar(0.0)).noGradient();
    op("MatrixSolveLs", doubles(4, 3), doubles(3, 2), Tensor.scalar(0.0))
        .fails(Code.INVALID_ARGUMENT);
    for (DType dtype : Kernels.types("MatrixTriangularSolve", "T")) {
      for (boolean lower : List.of(false, true)) {
        op("MatrixTriangularSolve", regular(dtype, 2, 3), any(dtype, 2, 3, 2))
            .with("lower", lower)
            .with("adjoint", lower)
            .slack(SLACK);
        op("MatrixTriangularSolve", regular(dtype, 1, 3), any(dtype, 4, 3, 2))
            .with("lower", lower)
            .slack(SLACK)
            .gradientByDifferences();
      }
    }
    op("MatrixTriangularSolve", doubles(0, 3, 3), doubles(0, 3, 2));
    op("MatrixTriangularSolve", doubles(2, 3), doubles(2, 1)).fails(Code.INVALID_ARGUMENT);
    for (DType dtype : Kernels.types("TridiagonalSolve", "T")) {
      for (boolean pivoting : List.of(false, true)) {
        op("TridiagonalSolve", any(dtype, 2, 3, 5), any(dtype, 2, 5, 2))
            .with("partial_pivoting", pivoting)
            .slack(SLACK * 40)
            .noGradient();
      }
      op(
              "TridiagonalMatMul",
              any(dtype, 2, 1, 4),
              any(dtype, 2, 1, 4),
              any(dtype, 2, 1, 4),
              any(dtype, 2, 4, 3))
          .slack(SLACK)
          .noGradient();
    }
    op("TridiagonalSolve", doubles(0, 3, 5), doubles(0, 5, 2)).noGradient();
    op("TridiagonalSolve", doubles(2, 5), doubles(5, 2)).fails(Code.INVALID_ARGUMENT);
    op("TridiagonalMatMul", doubles(0, 1, 4), doubles(0, 1, 4), doubles(0, 1, 4), doubles(0, 4, 3))
        .noGradient();
  }

  /** Matrices with a large diagonal. */
  private Tensor regular(DType dtype, int batch, int n) {
    Tensor t = any(dtype, batch, n, n);
    raiseDiagonal(t, n, 5);
    return batch == 1 ? t.reshaped(Shape.of(n, n)) : t;
  }

  /** Hermitian and positive definite matrices. */
  private Tensor definite(DType dtype, int n) {
    Tensor t = any(dtype, 2, n, n);
    for (int b = 0; b < 2; b++) {
      for (int r = 0; r < n; r++) {
        for (int c = 0; c <= r; c++) {
          long at = ((long) b * n + r) * n + c;
          long mirror = ((long) b * n + c) * n + r;
          if (!dtype.isComplex()) {
            t.setDouble(mirror, t.doubleAt(at));
          } else {
            Complex v = ComplexElements.at(dtype, t.data(), at);
            v = r == c ? new Complex(v.re(), 0) : v;
            ComplexElements.set(dtype, t.data(), at, v);
            ComplexElements.set(dtype, t.data(), mirror, v.conjugate());
          }
        }
      }
    }
    raiseDiagonal(t, n, 12);
    return t;
  }

  private static void raiseDiagonal(Tensor t, int n, double by) {
    for (long i = 0; i < t.elements(); i++) {
      if (i / n % n != i % n) {
        continue;
      }
      if (t.dtype().isComplex()) {
        Complex v = ComplexElements.at(t.dtype(), t.data(), i);
        ComplexElements.set(t.dtype(), t.data(), i, v.plus(new Complex(by, 0)));
      } else {
        t.setDouble(i, t.doubleAt(i) + by);
      }
    }
  }
}
