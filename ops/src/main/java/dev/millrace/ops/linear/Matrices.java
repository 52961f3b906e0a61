package dev.millrace.ops.linear;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.math.BatchMatMul;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.Parallel;
import dev.millrace.tensor.math.linear.DenseMatrix;

/** Shapes and elements of tensors whose last two dimensions are those of matrices. */
final class Matrices {
  static final String TYPES = "T: {double, float, half, complex64, complex128}";
  private static final long MIN_WORK = 50_000;

  private Matrices() {}

  /** What is done with the matrices of one place in the batch. */
  interface Body {
    void run(long index);
  }

  static Op.Builder define(String name) {
    return Op.define(name).attr(TYPES);
  }

  /** A shape of at least two dimensions, as far as it is known. */
  static Shape checked(Shape s) {
    if (s.hasRank() && s.rank() < 2) {
      throw MillraceException.invalid("Input tensor 0 must have rank >= 2, got %s", s);
    }
    return s;
  }

  /** The same, of which the last two dimensions must be equal. */
  static Shape square(Shape s) {
    checked(s);
    if (s.hasRank() && s.dim(-1) >= 0 && s.dim(-2) >= 0 && s.dim(-1) != s.dim(-2)) {
      throw MillraceException.invalid("Input matrix must be square, got shape %s.", s);
    }
    if (s.hasRank() && s.dim(-1) != s.dim(-2)) {
      long n = Math.max(s.dim(-1), s.dim(-2));
      return s.withDim(s.rank() - 1, n).withDim(s.rank() - 2, n);
    }
    return s;
  }

  static Shape batch(Shape s) {
    return s.slice(0, s.rank() - 2);
  }

  static Shape with(Shape batch, long rows, long columns) {
    return batch.concat(Shape.of(rows, columns));
  }

  static int rows(Tensor t) {
    return Math.toIntExact(t.shape().dim(-2));
  }

  static int columns(Tensor t) {
    return Math.toIntExact(t.shape().dim(-1));
  }

  static DenseMatrix matrix(Tensor t, long index) {
    return DenseMatrix.of(t, index, rows(t), columns(t));
  }

  /** Runs {@code body} for every matrix of a batch, on several threads where that is worth it. */
  static void each(Tensor matrices, Body body) {
    long n = Math.max(rows(matrices), columns(matrices));
    long grain = 1 + MIN_WORK / Math.max(1, n * n * n);
    Parallel.run(
        batch(matrices.shape()).elements(),
        grain,
        (from, to) -> {
          for (long i = from; i < to; i++) {
            body.run(i);
          }
        });
  }

  /** {@code x y}, with adjoints of either taken first. */
  static Output multiply(Scope s, Output x, Output y, boolean adjointX, boolean adjointY) {
    return BatchMatMul.of(s, x, y, adjointX, adjointY);
  }
}
