package dev.millrace.tensor.math.gemm;

import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** A product of complex matrices as four of real ones: those of the parts. */
final class ComplexGemm {
  private ComplexGemm() {}

  static void multiply(
      Gemm g,
      MemorySegment a,
      MemorySegment b,
      MemorySegment c,
      boolean accumulate,
      boolean split) {
    DType real = g.type().realPart();
    Gemm parts =
        new Gemm(real, g.transA(), g.transB(), g.m(), g.n(), g.k(), g.lda(), g.ldb(), g.ldc());
    long bytes = g.type().bytes();
    Tensor[] some = {
      part(real, a, a.byteSize() / bytes, 0, 1),
      part(real, a, a.byteSize() / bytes, 1, 1),
      part(real, a, a.byteSize() / bytes, 1, -1),
      part(real, b, b.byteSize() / bytes, 0, 1),
      part(real, b, b.byteSize() / bytes, 1, 1),
      part(real, c, c.byteSize() / bytes, 0, 1),
      part(real, c, c.byteSize() / bytes, 1, 1)
    };
    try {
      MemorySegment re = some[5].data();
      MemorySegment im = some[6].data();
      parts.multiply(some[0].data(), some[3].data(), re, accumulate, split);
      parts.multiply(some[2].data(), some[4].data(), re, true, split);
      parts.multiply(some[0].data(), some[4].data(), im, accumulate, split);
      parts.multiply(some[1].data(), some[3].data(), im, true, split);
      join(real, re, c, 0);
      join(real, im, c, 1);
    } finally {
      Refs.releaseAll(some);
    }
  }

  /** The real ({@code offset} 0) or imaginary (1) parts, times {@code sign}. */
  private static Tensor part(DType real, MemorySegment from, long n, int offset, int sign) {
    Tensor t = Refs.allocate(real, Shape.of(n));
    MemorySegment to = t.data();
    for (long i = 0; i < n; i++) {
      set(real, to, i, sign * get(real, from, 2 * i + offset));
    }
    return t;
  }

  private static void join(DType real, MemorySegment part, MemorySegment to, int offset) {
    long n = to.byteSize() / (2L * real.bytes());
    for (long i = 0; i < n; i++) {
      set(real, to, 2 * i + offset, get(real, part, i));
    }
  }

  private static double get(DType real, MemorySegment data, long i) {
    return real == DType.FLOAT
        ? data.getAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, i)
        : data.getAtIndex(ValueLayout.JAVA_DOUBLE_UNALIGNED, i);
  }

  private static void set(DType real, MemorySegment data, long i, double v) {
    if (real == DType.FLOAT) {
      data.setAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, i, (float) v);
    } else {
      data.setAtIndex(ValueLayout.JAVA_DOUBLE_UNALIGNED, i, v);
    }
  }
}
