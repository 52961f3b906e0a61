package dev.millrace.tensor.math.conv;

import static dev.millrace.tensor.math.AllMemory.ALL;

import dev.millrace.tensor.math.Specialized;
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
  public void collect(long list, long end, long x, long sum) {
    FloatVector s0 = FloatVector.fromMemorySegment(S, ALL, sum, LE);
    FloatVector s1 = FloatVector.fromMemorySegment(S, ALL, sum + STEP, LE);
    FloatVector s2 = FloatVector.fromMemorySegment(S, ALL, sum + 2 * STEP, LE);
    FloatVector s3 = FloatVector.fromMemorySegment(S, ALL, sum + 3 * STEP, LE);
    FloatVector s4 =
        N > 4 ? FloatVector.fromMemorySegment(S, ALL, sum + 4 * STEP, LE) : FloatVector.zero(S);
    FloatVector s5 =
        N > 5 ? FloatVector.fromMemorySegment(S, ALL, sum + 5 * STEP, LE) : FloatVector.zero(S);
    FloatVector s6 =
        N > 6 ? FloatVector.fromMemorySegment(S, ALL, sum + 6 * STEP, LE) : FloatVector.zero(S);
    FloatVector s7 =
        N > 7 ? FloatVector.fromMemorySegment(S, ALL, sum + 7 * STEP, LE) : FloatVector.zero(S);
    FloatVector s8 =
        N > 8 ? FloatVector.fromMemorySegment(S, ALL, sum + 8 * STEP, LE) : FloatVector.zero(S);
    FloatVector s9 =
        N > 9 ? FloatVector.fromMemorySegment(S, ALL, sum + 9 * STEP, LE) : FloatVector.zero(S);
    FloatVector s10 =
        N > 10 ? FloatVector.fromMemorySegment(S, ALL, sum + 10 * STEP, LE) : FloatVector.zero(S);
    FloatVector s11 =
        N > 11 ? FloatVector.fromMemorySegment(S, ALL, sum + 11 * STEP, LE) : FloatVector.zero(S);
    for (long i = list; i < end; i += PooledConv.ENTRY) {
      FloatVector f = FloatVector.broadcast(S, ALL.get(ValueLayout.JAVA_FLOAT_UNALIGNED, i));
      long p = x + ALL.get(ValueLayout.JAVA_INT_UNALIGNED, i + 4);
      s0 = FloatVector.fromMemorySegment(S, ALL, p, LE).fma(f, s0);
      s1 = FloatVector.fromMemorySegment(S, ALL, p + STEP, LE).fma(f, s1);
      s2 = FloatVector.fromMemorySegment(S, ALL, p + 2 * STEP, LE).fma(f, s2);
      s3 = FloatVector.fromMemorySegment(S, ALL, p + 3 * STEP, LE).fma(f, s3);
      if (N > 4) {
        s4 = FloatVector.fromMemorySegment(S, ALL, p + 4 * STEP, LE).fma(f, s4);
      }
      if (N > 5) {
        s5 = FloatVector.fromMemorySegment(S, ALL, p + 5 * STEP, LE).fma(f, s5);
      }
      if (N > 6) {
        s6 = FloatVector.fromMemorySegment(S, ALL, p + 6 * STEP, LE).fma(f, s6);
      }
      if (N > 7) {
        s7 = FloatVector.fromMemorySegment(S, ALL, p + 7 * STEP, LE).fma(f, s7);
      }
      if (N > 8) {
        s8 = FloatVector.fromMemorySegment(S, ALL, p + 8 * STEP, LE).fma(f, s8);
      }
      if (N > 9) {
        s9 = FloatVector.fromMemorySegment(S, ALL, p + 9 * STEP, LE).fma(f, s9);
      }
      if (N > 10) {
        s10 = FloatVector.fromMemorySegment(S, ALL, p + 10 * STEP, LE).fma(f, s10);
      }
      if (N > 11) {
        s11 = FloatVector.fromMemorySegment(S, ALL, p + 11 * STEP, LE).fma(f, s11);
      }
    }
    s0.intoMemorySegment(ALL, sum, LE);
    s1.intoMemorySegment(ALL, sum + STEP, LE);
    s2.intoMemorySegment(ALL, sum + 2 * STEP, LE);
    s3.intoMemorySegment(ALL, sum + 3 * STEP, LE);
    if (N > 4) {
      s4.intoMemorySegment(ALL, sum + 4 * STEP, LE);
    }
    if (N > 5) {
      s5.intoMemorySegment(ALL, sum + 5 * STEP, LE);
    }
    if (N > 6) {
      s6.intoMemorySegment(ALL, sum + 6 * STEP, LE);
    }
    if (N > 7) {
      s7.intoMemorySegment(ALL, sum + 7 * STEP, LE);
    }
    if (N > 8) {
      s8.intoMemorySegment(ALL, sum + 8 * STEP, LE);
    }
    if (N > 9) {
      s9.intoMemorySegment(ALL, sum + 9 * STEP, LE);
    }
    if (N > 10) {
      s10.intoMemorySegment(ALL, sum + 10 * STEP, LE);
    }
    if (N > 11) {
      s11.intoMemorySegment(ALL, sum + 11 * STEP, LE);
    }
  }

  @Override
  public void spread(long list, long end, long strip, long x) {
    FloatVector s0 = FloatVector.fromMemorySegment(S, ALL, strip, LE);
    FloatVector s1 = FloatVector.fromMemorySegment(S, ALL, strip + STEP, LE);
    FloatVector s2 = FloatVector.fromMemorySegment(S, ALL, strip + 2 * STEP, LE);
    FloatVector s3 = FloatVector.fromMemorySegment(S, ALL, strip + 3 * STEP, LE);
    FloatVector s4 =
        N > 4 ? FloatVector.fromMemorySegment(S, ALL, strip + 4 * STEP, LE) : FloatVector.zero(S);
    FloatVector s5 =
        N > 5 ? FloatVector.fromMemorySegment(S, ALL, strip + 5 * STEP, LE) : FloatVector.zero(S);
    FloatVector s6 =
        N > 6 ? FloatVector.fromMemorySegment(S, ALL, strip + 6 * STEP, LE) : FloatVector.zero(S);
    FloatVector s7 =
        N > 7 ? FloatVector.fromMemorySegment(S, ALL, strip + 7 * STEP, LE) : FloatVector.zero(S);
    FloatVector s8 =
        N > 8 ? FloatVector.fromMemorySegment(S, ALL, strip + 8 * STEP, LE) : FloatVector.zero(S);
    FloatVector s9 =
        N > 9 ? FloatVector.fromMemorySegment(S, ALL, strip + 9 * STEP, LE) : FloatVector.zero(S);
    FloatVector s10 =
        N > 10 ? FloatVector.fromMemorySegment(S, ALL, strip + 10 * STEP, LE) : FloatVector.zero(S);
    FloatVector s11 =
        N > 11 ? FloatVector.fromMemorySegment(S, ALL, strip + 11 * STEP, LE) : FloatVector.zero(S);
    for (long i = list; i < end; i += PooledConv.ENTRY) {
      FloatVector f = FloatVector.broadcast(S, ALL.get(ValueLayout.JAVA_FLOAT_UNALIGNED, i));
      long p = x + ALL.get(ValueLayout.JAVA_INT_UNALIGNED, i + 4);
      s0.fma(f, FloatVector.fromMemorySegment(S, ALL, p, LE)).intoMemorySegment(ALL, p, LE);
      s1.fma(f, FloatVector.fromMemorySegment(S, ALL, p + STEP, LE))
          .intoMemorySegment(ALL, p + STEP, LE);
      s2.fma(f, FloatVector.fromMemorySegment(S, ALL, p + 2 * STEP, LE))
          .intoMemorySegment(ALL, p + 2 * STEP, LE);
      s3.fma(f, FloatVector.fromMemorySegment(S, ALL, p + 3 * STEP, LE))
          .intoMemorySegment(ALL, p + 3 * STEP, LE);
      if (N > 4) {
        s4.fma(f, FloatVector.fromMemorySegment(S, ALL, p + 4 * STEP, LE))
            .intoMemorySegment(ALL, p + 4 * STEP, LE);
      }
      if (N > 5) {
        s5.fma(f, FloatVector.fromMemorySegment(S, ALL, p + 5 * STEP, LE))
            .intoMemorySegment(ALL, p + 5 * STEP, LE);
      }
      if (N > 6) {
        s6.fma(f, FloatVector.fromMemorySegment(S, ALL, p + 6 * STEP, LE))
            .intoMemorySegment(ALL, p + 6 * STEP, LE);
      }
      if (N > 7) {
        s7.fma(f, FloatVector.fromMemorySegment(S, ALL, p + 7 * STEP, LE))
            .intoMemorySegment(ALL, p + 7 * STEP, LE);
      }
      if (N > 8) {
        s8.fma(f, FloatVector.fromMemorySegment(S, ALL, p + 8 * STEP, LE))
            .intoMemorySegment(ALL, p + 8 * STEP, LE);
      }
      if (N > 9) {
        s9.fma(f, FloatVector.fromMemorySegment(S, ALL, p + 9 * STEP, LE))
            .intoMemorySegment(ALL, p + 9 * STEP, LE);
      }
      if (N > 10) {
        s10.fma(f, FloatVector.fromMemorySegment(S, ALL, p + 10 * STEP, LE))
            .intoMemorySegment(ALL, p + 10 * STEP, LE);
      }
      if (N > 11) {
        s11.fma(f, FloatVector.fromMemorySegment(S, ALL, p + 11 * STEP, LE))
            .intoMemorySegment(ALL, p + 11 * STEP, LE);
      }
    }
  }
}
