package dev.millrace.collective.reduce;

import dev.millrace.tensor.DType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Multiplies complex elements. */
final class ComplexProduct extends Reducer {
  private static final ValueLayout.OfFloat F32 = ValueLayout.JAVA_FLOAT_UNALIGNED;
  private static final ValueLayout.OfDouble F64 = ValueLayout.JAVA_DOUBLE_UNALIGNED;

  ComplexProduct(DType dtype) {
    super(ReduceOp.PRODUCT, dtype.bytes());
  }

  @Override
  void loop(
      MemorySegment a,
      long aAt,
      MemorySegment b,
      long bAt,
      MemorySegment out,
      long outAt,
      long bytes) {
    if (elementBytes() == DType.COMPLEX64.bytes()) {
      for (long i = 0; i < bytes; i += 8) {
        float ar = a.get(F32, aAt + i);
        float ai = a.get(F32, aAt + i + 4);
        float br = b.get(F32, bAt + i);
        float bi = b.get(F32, bAt + i + 4);
        out.set(F32, outAt + i, ar * br - ai * bi);
        out.set(F32, outAt + i + 4, ar * bi + ai * br);
      }
    } else {
      for (long i = 0; i < bytes; i += 16) {
        double ar = a.get(F64, aAt + i);
        double ai = a.get(F64, aAt + i + 8);
        double br = b.get(F64, bAt + i);
        double bi = b.get(F64, bAt + i + 8);
        out.set(F64, outAt + i, ar * br - ai * bi);
        out.set(F64, outAt + i + 8, ar * bi + ai * br);
      }
    }
  }

  @Override
  void divide(MemorySegment x, long at, long bytes, int divisor) {
    throw new IllegalStateException("a product is not divided");
  }
}
