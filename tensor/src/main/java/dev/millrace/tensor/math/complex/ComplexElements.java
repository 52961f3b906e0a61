package dev.millrace.tensor.math.complex;

import dev.millrace.tensor.DType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** The elements of tensors of complex64 or complex128, each a real part before an imaginary one. */
public final class ComplexElements {
  private static final ValueLayout.OfFloat F32 = ValueLayout.JAVA_FLOAT_UNALIGNED;
  private static final ValueLayout.OfDouble F64 = ValueLayout.JAVA_DOUBLE_UNALIGNED;

  private ComplexElements() {}

  /** Element {@code i} of {@code data}, which holds elements of a complex type. */
  public static Complex at(DType type, MemorySegment data, long i) {
    return type == DType.COMPLEX64
        ? new Complex(data.getAtIndex(F32, 2 * i), data.getAtIndex(F32, 2 * i + 1))
        : new Complex(data.getAtIndex(F64, 2 * i), data.getAtIndex(F64, 2 * i + 1));
  }

  /** Sets element {@code i}, rounding to the type. */
  public static void set(DType type, MemorySegment data, long i, Complex v) {
    if (type == DType.COMPLEX64) {
      data.setAtIndex(F32, 2 * i, (float) v.re());
      data.setAtIndex(F32, 2 * i + 1, (float) v.im());
    } else {
      data.setAtIndex(F64, 2 * i, v.re());
      data.setAtIndex(F64, 2 * i + 1, v.im());
    }
  }
}
