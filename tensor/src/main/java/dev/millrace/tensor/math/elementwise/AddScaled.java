package dev.millrace.tensor.math.elementwise;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.VectorModule;
import dev.millrace.tensor.math.Parallel;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import jdk.incubator.vector.DoubleVector;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorSpecies;

/**
 * Adds a multiple of one tensor to another in place: {@code y += alpha * x}. With {@code alpha} 1
 * or -1 this is addition and subtraction exactly, for every numeric type; integers wrap.
 */
public final class AddScaled {
  private static final long GRAIN = 1 << 15;

  private AddScaled() {}

  /** Adds {@code alpha * x} to {@code y}; both have the same type and number of elements. */
  public static void to(Tensor y, Tensor x, double alpha) {
    if (y.elements() != x.elements()) {
      throw new IllegalArgumentException(y.shape() + " += " + x.shape());
    }
    Parallel.run(y.elements(), GRAIN, (from, end) -> to(y, from, x, from, end - from, alpha));
  }

  /**
   * Adds {@code alpha} times {@code n} elements of {@code x} to as many of {@code y}, each from an
   * offset of its own. Runs on the calling thread.
   */
  public static void to(Tensor y, long yAt, Tensor x, long xAt, long n, double alpha) {
    DType type = y.dtype();
    if (type != x.dtype()) {
      throw new IllegalArgumentException(type + " += " + x.dtype());
    }
    switch (type) {
      case FLOAT -> floats(slice(y, yAt, n, 4), slice(x, xAt, n, 4), n, (float) alpha);
      case DOUBLE -> doubles(slice(y, yAt, n, 8), slice(x, xAt, n, 8), n, alpha);
      case COMPLEX64 -> floats(slice(y, yAt, n, 8), slice(x, xAt, n, 8), 2 * n, (float) alpha);
      case COMPLEX128 -> doubles(slice(y, yAt, n, 16), slice(x, xAt, n, 16), 2 * n, alpha);
      case HALF, BFLOAT16 -> {
        for (long i = 0; i < n; i++) {
          y.setDouble(yAt + i, y.doubleAt(yAt + i) + alpha * x.doubleAt(xAt + i));
        }
      }
      case INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64 -> {
        long a = (long) alpha;
        for (long i = 0; i < n; i++) {
          y.setLong(yAt + i, y.longAt(yAt + i) + a * x.longAt(xAt + i));
        }
      }
      default ->
          throw new MillraceException(
              Code.UNIMPLEMENTED, "There is no addition for elements of type " + type + ".");
    }
  }

  private static MemorySegment slice(Tensor t, long at, long n, int bytes) {
    return t.data().asSlice(at * bytes, n * bytes);
  }

  /** Adds {@code n} floats or doubles of {@code x} to those of {@code y}, on the calling thread. */
  public static void plain(DType type, MemorySegment y, MemorySegment x, long n) {
    if (type == DType.FLOAT) {
      floats(y, x, n, 1);
    } else {
      doubles(y, x, n, 1);
    }
  }

  private static void floats(MemorySegment y, MemorySegment x, long n, float alpha) {
    long i = VectorModule.isPresent() ? Vectors.floats(y, x, n, alpha) : 0;
    for (; i < n; i++) {
      float v = y.getAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, i);
      v += alpha * x.getAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, i);
      y.setAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, i, v);
    }
  }

  private static void doubles(MemorySegment y, MemorySegment x, long n, double alpha) {
    long i = VectorModule.isPresent() ? Vectors.doubles(y, x, n, alpha) : 0;
    for (; i < n; i++) {
      double v = y.getAtIndex(ValueLayout.JAVA_DOUBLE_UNALIGNED, i);
      v += alpha * x.getAtIndex(ValueLayout.JAVA_DOUBLE_UNALIGNED, i);
      y.setAtIndex(ValueLayout.JAVA_DOUBLE_UNALIGNED, i, v);
    }
  }

  /** The loops over vectors: apart, as they can be linked only where there is the Vector API. */
  private static final class Vectors {
    private static final VectorSpecies<Float> F = FloatVector.SPECIES_PREFERRED;
    private static final VectorSpecies<Double> D = DoubleVector.SPECIES_PREFERRED;
    private static final ByteOrder ORDER = ByteOrder.nativeOrder();

    private Vectors() {}

    static long floats(MemorySegment y, MemorySegment x, long n, float alpha) {
      long end = F.loopBound(n);
      for (long i = 0; i < end; i += F.length()) {
        FloatVector.fromMemorySegment(F, x, i * 4, ORDER)
            .mul(alpha)
            .add(FloatVector.fromMemorySegment(F, y, i * 4, ORDER))
            .intoMemorySegment(y, i * 4, ORDER);
      }
      return end;
    }

    static long doubles(MemorySegment y, MemorySegment x, long n, double alpha) {
      long end = D.loopBound(n);
      for (long i = 0; i < end; i += D.length()) {
        DoubleVector.fromMemorySegment(D, x, i * 8, ORDER)
            .mul(alpha)
            .add(DoubleVector.fromMemorySegment(D, y, i * 8, ORDER))
            .intoMemorySegment(y, i * 8, ORDER);
      }
      return end;
    }
  }
}
