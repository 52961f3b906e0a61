package dev.millrace.tensor.math.elementwise;

import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.Specialized;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;

/**
 * The loop that turns elements of one type into another, see {@link ElementCast} for the rules. A
 * template, see {@link Specialized}: the tests of types below are constants in every copy.
 */
final class CastLoop implements ElementCast.Loop {
  /** What a copy is made for. */
  record Constants(DType from, DType to, boolean truncate) {}

  private static final Constants C = Specialized.constants(MethodHandles.lookup(), Constants.class);
  private static final DType FROM = C.from();
  private static final DType TO = C.to();
  private static final boolean TRUNCATE = C.truncate();

  private static final boolean FROM_REAL = isReal(FROM);
  private static final boolean TO_REAL = isReal(TO);
  private static final int FROM_BYTES = FROM.bytes();
  private static final int TO_BYTES = TO.bytes();

  /** Types whose conversion from a floating value goes through a 64-bit integer. */
  private static final boolean TO_WIDE = TO == DType.INT64 || TO == DType.UINT32;

  private static final ValueLayout.OfFloat F32 = ValueLayout.JAVA_FLOAT_UNALIGNED;
  private static final ValueLayout.OfDouble F64 = ValueLayout.JAVA_DOUBLE_UNALIGNED;
  private static final ValueLayout.OfInt I32 = ValueLayout.JAVA_INT_UNALIGNED;
  private static final ValueLayout.OfLong I64 = ValueLayout.JAVA_LONG_UNALIGNED;
  private static final ValueLayout.OfShort I16 = ValueLayout.JAVA_SHORT_UNALIGNED;
  private static final ValueLayout.OfByte I8 = ValueLayout.JAVA_BYTE;

  private static boolean isReal(DType t) {
    return t.isFloating() || t == DType.COMPLEX64 || t == DType.COMPLEX128;
  }

  @Override
  public void run(MemorySegment x, MemorySegment y, long first, long count) {
    for (long i = first; i < first + count; i++) {
      long from = i * FROM_BYTES;
      long to = i * TO_BYTES;
      if (!TO_REAL) {
        setWhole(y, to, FROM_REAL ? whole(real(x, from)) : whole(x, from));
      } else if (!FROM_REAL && TO == DType.FLOAT) {
        y.set(F32, to, nearestFloat(whole(x, from)));
      } else {
        setReal(y, to, FROM_REAL ? real(x, from) : nearestDouble(whole(x, from)));
        if (FROM == DType.COMPLEX64 && TO == DType.COMPLEX128) {
          y.set(F64, to + 8, x.get(F32, from + 4));
        } else if (FROM == DType.COMPLEX128 && TO == DType.COMPLEX64) {
          y.set(F32, to + 4, (float) x.get(F64, from + 8));
        }
      }
    }
  }

  /** A floating element, or the real part of a complex one. */
  private static double real(MemorySegment x, long at) {
    if (FROM == DType.FLOAT || FROM == DType.COMPLEX64) {
      return x.get(F32, at);
    }
    if (FROM == DType.HALF) {
      return Float.float16ToFloat(x.get(I16, at));
    }
    if (FROM == DType.BFLOAT16) {
      return Tensor.bfloat16ToFloat(x.get(I16, at));
    }
    return x.get(F64, at);
  }

  /** An integer or bool element. */
  private static long whole(MemorySegment x, long at) {
    if (FROM_BYTES == 8) {
      return x.get(I64, at);
    }
    if (FROM_BYTES == 4) {
      int v = x.get(I32, at);
      return FROM == DType.UINT32 ? v & 0xFFFFFFFFL : v;
    }
    if (FROM_BYTES == 2) {
      short v = x.get(I16, at);
      return FROM == DType.UINT16 || FROM == DType.QUINT16 ? v & 0xFFFF : v;
    }
    byte v = x.get(I8, at);
    if (FROM == DType.BOOL) {
      return v != 0 ? 1 : 0;
    }
    return FROM == DType.UINT8 || FROM == DType.QUINT8 ? v & 0xFF : v;
  }

  /** What a processor of the x86 family makes of a floating value: see {@link ElementCast}. */
  private static long whole(double v) {
    if (TO == DType.BOOL) {
      return v != 0 ? 1 : 0;
    }
    if (TO == DType.UINT64) {
      return v >= 0x1p63 && v < 0x1p64 ? (long) (v - 0x1p63) ^ Long.MIN_VALUE : wide(v);
    }
    if (TO_WIDE) {
      return wide(v);
    }
    return v > -0x1p31 - 1 && v < 0x1p31 ? (int) v : Integer.MIN_VALUE;
  }

  private static long wide(double v) {
    return v >= -0x1p63 && v < 0x1p63 ? (long) v : Long.MIN_VALUE;
  }

  private static double nearestDouble(long v) {
    if (FROM == DType.UINT64 && v < 0) {
      return (v >>> 1 | v & 1) * 2.0;
    }
    return v;
  }

  private static float nearestFloat(long v) {
    if (FROM == DType.UINT64 && v < 0) {
      return (v >>> 1 | v & 1) * 2f;
    }
    return v;
  }

  private static void setWhole(MemorySegment y, long at, long v) {
    if (TO_BYTES == 8) {
      y.set(I64, at, v);
    } else if (TO_BYTES == 4) {
      y.set(I32, at, (int) v);
    } else if (TO_BYTES == 2) {
      y.set(I16, at, (short) v);
    } else if (TO == DType.BOOL) {
      y.set(I8, at, (byte) (v != 0 ? 1 : 0));
    } else {
      y.set(I8, at, (byte) v);
    }
  }

  private static void setReal(MemorySegment y, long at, double v) {
    if (TO == DType.DOUBLE) {
      y.set(F64, at, v);
    } else if (TO == DType.COMPLEX128) {
      y.set(F64, at, v);
      y.set(F64, at + 8, 0);
    } else if (TO == DType.FLOAT) {
      y.set(F32, at, (float) cut(v, 23));
    } else if (TO == DType.COMPLEX64) {
      y.set(F32, at, (float) v);
      y.set(F32, at + 4, 0);
    } else if (TO == DType.HALF) {
      y.set(I16, at, Float.floatToFloat16((float) cut(v, 10)));
    } else {
      y.set(I16, at, Tensor.floatToBfloat16((float) cut(v, 7)));
    }
  }

  /** With {@code Truncate}: v without the bits of its fraction that have no place in the result. */
  private static double cut(double v, int bits) {
    if (!TRUNCATE) {
      return v;
    }
    return Double.longBitsToDouble(Double.doubleToRawLongBits(v) & -1L << 52 - bits);
  }
}
