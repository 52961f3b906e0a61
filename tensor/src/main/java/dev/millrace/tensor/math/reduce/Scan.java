package dev.millrace.tensor.math.reduce;

import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.Parallel;
import dev.millrace.tensor.math.complex.Complex;
import dev.millrace.tensor.math.complex.ComplexElements;
import java.lang.ref.Reference;

/** Running sums and products along a dimension. */
public final class Scan {
  private Scan() {}

  /**
   * Fills {@code y} from {@code x}, both taken as {@code [outer, n, inner]}, with the sums or
   * products of the elements up to each along the middle dimension; {@code exclusive} leaves the
   * element itself out, {@code reverse} begins at the end. Floating and complex elements accumulate
   * in double.
   */
  public static void run(
      boolean product,
      boolean exclusive,
      boolean reverse,
      long outer,
      long n,
      long inner,
      Tensor x,
      Tensor y) {
    boolean complex = x.dtype().isComplex();
    boolean floating = x.dtype().isFloating();
    Parallel.run(
        outer * inner,
        1 + (1 << 14) / Math.max(1, n),
        (from, to) -> {
          for (long line = from; line < to; line++) {
            long start = line / inner * n * inner + line % inner;
            if (complex) {
              complex(product, exclusive, reverse, start, n, inner, x, y);
            } else if (floating) {
              real(product, exclusive, reverse, start, n, inner, x, y);
            } else {
              whole(product, exclusive, reverse, start, n, inner, x, y);
            }
          }
        });
    Reference.reachabilityFence(x);
    Reference.reachabilityFence(y);
  }

  private static void real(
      boolean product,
      boolean exclusive,
      boolean reverse,
      long start,
      long n,
      long step,
      Tensor x,
      Tensor y) {
    double sum = product ? 1 : 0;
    for (long k = 0; k < n; k++) {
      long i = start + (reverse ? n - 1 - k : k) * step;
      double v = x.doubleAt(i);
      double next = product ? sum * v : sum + v;
      y.setDouble(i, exclusive ? sum : next);
      sum = next;
    }
  }

  private static void complex(
      boolean product,
      boolean exclusive,
      boolean reverse,
      long start,
      long n,
      long step,
      Tensor x,
      Tensor y) {
    Complex sum = product ? Complex.ONE : Complex.ZERO;
    for (long k = 0; k < n; k++) {
      long i = start + (reverse ? n - 1 - k : k) * step;
      Complex v = ComplexElements.at(x.dtype(), x.data(), i);
      Complex next = product ? sum.times(v) : sum.plus(v);
      ComplexElements.set(y.dtype(), y.data(), i, exclusive ? sum : next);
      sum = next;
    }
  }

  private static void whole(
      boolean product,
      boolean exclusive,
      boolean reverse,
      long start,
      long n,
      long step,
      Tensor x,
      Tensor y) {
    long sum = product ? 1 : 0;
    for (long k = 0; k < n; k++) {
      long i = start + (reverse ? n - 1 - k : k) * step;
      long v = x.longAt(i);
      long next = product ? sum * v : sum + v;
      y.setLong(i, exclusive ? sum : next);
      sum = next;
    }
  }
}
