package dev.millrace.tensor.math;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.nio.ByteOrder;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorSpecies;

/**
 * The loops of {@link PooledConv} over strips of {@code N} neighbouring vectors, which stay in
 * registers. A template, see {@link Specialized}. Written out, as vectors in an array would go
 * through memory, and without helpers, whose vectors would be boxed; and no longer, as the JVM's
 * first compiler gives up on loops that carry more.
 */
final class StripLoop implements PooledConv.Strips {
  /** Vectors of a strip: from 4 to 12. */
  private static final int N = Specialized.constants(MethodHandles.lookup(), Integer.class);

  private static final VectorSpecies<Float> S = FloatVector.SPECIES_PREFERRED;
  private static final ByteOrder LE = ByteOrder.LITTLE_ENDIAN;
  private static final long STEP = S.vectorByteSize();

  @Override
  public void collect(
      MemorySegment list,
      long from,
      long to,
      MemorySegment x,
      long xAt,
      MemorySegment sum,
      long sumAt) {
    FloatVector s0 = FloatVector.fromMemorySegment(S, sum, sumAt, LE);
    FloatVector s1 = FloatVector.fromMemorySegment(S, sum, sumAt + STEP, LE);
    FloatVector s2 = FloatVector.fromMemorySegment(S, sum, sumAt + 2 * STEP, LE);
    FloatVector s3 = FloatVector.fromMemorySegment(S, sum, sumAt + 3 * STEP, LE);
    FloatVector s4 =
        N > 4 ? FloatVector.fromMemorySegment(S, sum, sumAt + 4 * STEP, LE) : FloatVector.zero(S);
    FloatVector s5 =
        N > 5 ? FloatVector.fromMemorySegment(S, sum, sumAt + 5 * STEP, LE) : FloatVector.zero(S);
    FloatVector s6 =
        N > 6 ? FloatVector.fromMemorySegment(S, sum, sumAt + 6 * STEP, LE) : FloatVector.zero(S);
    FloatVector s7 =
        N > 7 ? FloatVector.fromMemorySegment(S, sum, sumAt + 7 * STEP, LE) : FloatVector.zero(S);
    FloatVector s8 =
        N > 8 ? FloatVector.fromMemorySegment(S, sum, sumAt + 8 * STEP, LE) : FloatVector.zero(S);
    FloatVector s9 =
        N > 9 ? FloatVector.fromMemorySegment(S, sum, sumAt + 9 * STEP, LE) : FloatVector.zero(S);
    FloatVector s10 =
        N > 10 ? FloatVector.fromMemorySegment(S, sum, sumAt + 10 * STEP, LE) : FloatVector.zero(S);
    FloatVector s11 =
        N > 11 ? FloatVector.fromMemorySegment(S, sum, sumAt + 11 * STEP, LE) : FloatVector.zero(S);
    for (long i = from; i < to; i += PooledConv.ENTRY) {
      FloatVector f = FloatVector.broadcast(S, list.get(ValueLayout.JAVA_FLOAT_UNALIGNED, i));
      long p = xAt + list.get(ValueLayout.JAVA_INT_UNALIGNED, i + 4);
      s0 = FloatVector.fromMemorySegment(S, x, p, LE).fma(f, s0);
      s1 = FloatVector.fromMemorySegment(S, x, p + STEP, LE).fma(f, s1);
      s2 = FloatVector.fromMemorySegment(S, x, p + 2 * STEP, LE).fma(f, s2);
      s3 = FloatVector.fromMemorySegment(S, x, p + 3 * STEP, LE).fma(f, s3);
      if (N > 4) {
        s4 = FloatVector.fromMemorySegment(S, x, p + 4 * STEP, LE).fma(f, s4);
      }
      if (N > 5) {
        s5 = FloatVector.fromMemorySegment(S, x, p + 5 * STEP, LE).fma(f, s5);
      }
      if (N > 6) {
        s6 = FloatVector.fromMemorySegment(S, x, p + 6 * STEP, LE).fma(f, s6);
      }
      if (N > 7) {
        s7 = FloatVector.fromMemorySegment(S, x, p + 7 * STEP, LE).fma(f, s7);
      }
      if (N > 8) {
        s8 = FloatVector.fromMemorySegment(S, x, p + 8 * STEP, LE).fma(f, s8);
      }
      if (N > 9) {
        s9 = FloatVector.fromMemorySegment(S, x, p + 9 * STEP, LE).fma(f, s9);
      }
      if (N > 10) {
        s10 = FloatVector.fromMemorySegment(S, x, p + 10 * STEP, LE).fma(f, s10);
      }
      if (N > 11) {
        s11 = FloatVector.fromMemorySegment(S, x, p + 11 * STEP, LE).fma(f, s11);
      }
    }
    s0.intoMemorySegment(sum, sumAt, LE);
    s1.intoMemorySegment(sum, sumAt + STEP, LE);
    s2.intoMemorySegment(sum, sumAt + 2 * STEP, LE);
    s3.intoMemorySegment(sum, sumAt + 3 * STEP, LE);
    if (N > 4) {
      s4.intoMemorySegment(sum, sumAt + 4 * STEP, LE);
    }
    if (N > 5) {
      s5.intoMemorySegment(sum, sumAt + 5 * STEP, LE);
    }
    if (N > 6) {
      s6.intoMemorySegment(sum, sumAt + 6 * STEP, LE);
    }
    if (N > 7) {
      s7.intoMemorySegment(sum, sumAt + 7 * STEP, LE);
    }
    if (N > 8) {
      s8.intoMemorySegment(sum, sumAt + 8 * STEP, LE);
    }
    if (N > 9) {
      s9.intoMemorySegment(sum, sumAt + 9 * STEP, LE);
    }
    if (N > 10) {
      s10.intoMemorySegment(sum, sumAt + 10 * STEP, LE);
    }
    if (N > 11) {
      s11.intoMemorySegment(sum, sumAt + 11 * STEP, LE);
    }
  }

  @Override
  public void spread(
      MemorySegment list,
      long from,
      long to,
      MemorySegment strip,
      long stripAt,
      MemorySegment x,
      long xAt) {
    FloatVector s0 = FloatVector.fromMemorySegment(S, strip, stripAt, LE);
    FloatVector s1 = FloatVector.fromMemorySegment(S, strip, stripAt + STEP, LE);
    FloatVector s2 = FloatVector.fromMemorySegment(S, strip, stripAt + 2 * STEP, LE);
    FloatVector s3 = FloatVector.fromMemorySegment(S, strip, stripAt + 3 * STEP, LE);
    FloatVector s4 =
        N > 4
            ? FloatVector.fromMemorySegment(S, strip, stripAt + 4 * STEP, LE)
            : FloatVector.zero(S);
    FloatVector s5 =
        N > 5
            ? FloatVector.fromMemorySegment(S, strip, stripAt + 5 * STEP, LE)
            : FloatVector.zero(S);
    FloatVector s6 =
        N > 6
            ? FloatVector.fromMemorySegment(S, strip, stripAt + 6 * STEP, LE)
            : FloatVector.zero(S);
    FloatVector s7 =
        N > 7
            ? FloatVector.fromMemorySegment(S, strip, stripAt + 7 * STEP, LE)
            : FloatVector.zero(S);
    FloatVector s8 =
        N > 8
            ? FloatVector.fromMemorySegment(S, strip, stripAt + 8 * STEP, LE)
            : FloatVector.zero(S);
    FloatVector s9 =
        N > 9
            ? FloatVector.fromMemorySegment(S, strip, stripAt + 9 * STEP, LE)
            : FloatVector.zero(S);
    FloatVector s10 =
        N > 10
            ? FloatVector.fromMemorySegment(S, strip, stripAt + 10 * STEP, LE)
            : FloatVector.zero(S);
    FloatVector s11 =
        N > 11
            ? FloatVector.fromMemorySegment(S, strip, stripAt + 11 * STEP, LE)
            : FloatVector.zero(S);
    for (long i = from; i < to; i += PooledConv.ENTRY) {
      FloatVector f = FloatVector.broadcast(S, list.get(ValueLayout.JAVA_FLOAT_UNALIGNED, i));
      long p = xAt + list.get(ValueLayout.JAVA_INT_UNALIGNED, i + 4);
      s0.fma(f, FloatVector.fromMemorySegment(S, x, p, LE)).intoMemorySegment(x, p, LE);
      s1.fma(f, FloatVector.fromMemorySegment(S, x, p + STEP, LE))
          .intoMemorySegment(x, p + STEP, LE);
      s2.fma(f, FloatVector.fromMemorySegment(S, x, p + 2 * STEP, LE))
          .intoMemorySegment(x, p + 2 * STEP, LE);
      s3.fma(f, FloatVector.fromMemorySegment(S, x, p + 3 * STEP, LE))
          .intoMemorySegment(x, p + 3 * STEP, LE);
      if (N > 4) {
        s4.fma(f, FloatVector.fromMemorySegment(S, x, p + 4 * STEP, LE))
            .intoMemorySegment(x, p + 4 * STEP, LE);
      }
      if (N > 5) {
        s5.fma(f, FloatVector.fromMemorySegment(S, x, p + 5 * STEP, LE))
            .intoMemorySegment(x, p + 5 * STEP, LE);
      }
      if (N > 6) {
        s6.fma(f, FloatVector.fromMemorySegment(S, x, p + 6 * STEP, LE))
            .intoMemorySegment(x, p + 6 * STEP, LE);
      }
      if (N > 7) {
        s7.fma(f, FloatVector.fromMemorySegment(S, x, p + 7 * STEP, LE))
            .intoMemorySegment(x, p + 7 * STEP, LE);
      }
      if (N > 8) {
        s8.fma(f, FloatVector.fromMemorySegment(S, x, p + 8 * STEP, LE))
            .intoMemorySegment(x, p + 8 * STEP, LE);
      }
      if (N > 9) {
        s9.fma(f, FloatVector.fromMemorySegment(S, x, p + 9 * STEP, LE))
            .intoMemorySegment(x, p + 9 * STEP, LE);
      }
      if (N > 10) {
        s10.fma(f, FloatVector.fromMemorySegment(S, x, p + 10 * STEP, LE))
            .intoMemorySegment(x, p + 10 * STEP, LE);
      }
      if (N > 11) {
        s11.fma(f, FloatVector.fromMemorySegment(S, x, p + 11 * STEP, LE))
            .intoMemorySegment(x, p + 11 * STEP, LE);
      }
    }
  }
}
