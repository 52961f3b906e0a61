package dev.millrace.tensor;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Reads and writes single elements of any plain type: convenient, not fast. */
final class ElementAccess {
  static final ValueLayout.OfFloat F32 = ValueLayout.JAVA_FLOAT_UNALIGNED;
  static final ValueLayout.OfDouble F64 = ValueLayout.JAVA_DOUBLE_UNALIGNED;
  static final ValueLayout.OfInt I32 = ValueLayout.JAVA_INT_UNALIGNED;
  static final ValueLayout.OfLong I64 = ValueLayout.JAVA_LONG_UNALIGNED;
  static final ValueLayout.OfShort I16 = ValueLayout.JAVA_SHORT_UNALIGNED;
  static final ValueLayout.OfByte I8 = ValueLayout.JAVA_BYTE;

  private ElementAccess() {}

  static double getDouble(DType dtype, MemorySegment data, long i) {
    return switch (dtype) {
      case FLOAT -> data.getAtIndex(F32, i);
      case DOUBLE -> data.getAtIndex(F64, i);
      case HALF -> Float.float16ToFloat(data.getAtIndex(I16, i));
      case BFLOAT16 -> Tensor.bfloat16ToFloat(data.getAtIndex(I16, i));
      case UINT64 -> unsignedToDouble(data.getAtIndex(I64, i));
      default -> getLong(dtype, data, i);
    };
  }

  static long getLong(DType dtype, MemorySegment data, long i) {
    return switch (dtype) {
      case INT32, QINT32 -> data.getAtIndex(I32, i);
      case INT64, UINT64 -> data.getAtIndex(I64, i);
      case INT16, QINT16 -> data.getAtIndex(I16, i);
      case INT8, QINT8 -> data.get(I8, i);
      case UINT8, QUINT8 -> data.get(I8, i) & 0xFF;
      case UINT16, QUINT16 -> data.getAtIndex(I16, i) & 0xFFFF;
      case UINT32 -> data.getAtIndex(I32, i) & 0xFFFFFFFFL;
      case BOOL -> data.get(I8, i) != 0 ? 1 : 0;
      case FLOAT, DOUBLE, HALF, BFLOAT16 -> (long) getDouble(dtype, data, i);
      default -> throw notANumber(dtype);
    };
  }

  static void setDouble(DType dtype, MemorySegment data, long i, double v) {
    switch (dtype) {
      case FLOAT -> data.setAtIndex(F32, i, (float) v);
      case DOUBLE -> data.setAtIndex(F64, i, v);
      case HALF -> data.setAtIndex(I16, i, Float.floatToFloat16((float) v));
      case BFLOAT16 -> data.setAtIndex(I16, i, Tensor.floatToBfloat16((float) v));
      case COMPLEX64 -> {
        data.setAtIndex(F32, 2 * i, (float) v);
        data.setAtIndex(F32, 2 * i + 1, 0);
      }
      case COMPLEX128 -> {
        data.setAtIndex(F64, 2 * i, v);
        data.setAtIndex(F64, 2 * i + 1, 0);
      }
      default -> setLong(dtype, data, i, (long) v);
    }
  }

  static void setLong(DType dtype, MemorySegment data, long i, long v) {
    switch (dtype) {
      case INT32, UINT32, QINT32 -> data.setAtIndex(I32, i, (int) v);
      case INT64, UINT64 -> data.setAtIndex(I64, i, v);
      case INT16, UINT16, QINT16, QUINT16 -> data.setAtIndex(I16, i, (short) v);
      case INT8, UINT8, QINT8, QUINT8 -> data.set(I8, i, (byte) v);
      case BOOL -> data.set(I8, i, (byte) (v != 0 ? 1 : 0));
      case FLOAT, DOUBLE, HALF, BFLOAT16, COMPLEX64, COMPLEX128 ->
          setDouble(dtype, data, i, (double) v);
      default -> throw notANumber(dtype);
    }
  }

  static float[] toFloats(DType dtype, MemorySegment data, int n) {
    float[] out = new float[n];
    if (dtype == DType.FLOAT) {
      MemorySegment.copy(data, F32, 0, out, 0, n);
    } else {
      for (int i = 0; i < n; i++) {
        out[i] = (float) getDouble(dtype, data, i);
      }
    }
    return out;
  }

  static double[] toDoubles(DType dtype, MemorySegment data, int n) {
    double[] out = new double[n];
    for (int i = 0; i < n; i++) {
      out[i] = getDouble(dtype, data, i);
    }
    return out;
  }

  static int[] toInts(DType dtype, MemorySegment data, int n) {
    int[] out = new int[n];
    for (int i = 0; i < n; i++) {
      out[i] = Math.toIntExact(getLong(dtype, data, i));
    }
    return out;
  }

  static long[] toLongs(DType dtype, MemorySegment data, int n) {
    long[] out = new long[n];
    for (int i = 0; i < n; i++) {
      out[i] = getLong(dtype, data, i);
    }
    return out;
  }

  /** Element {@code i} as text. */
  static String text(DType dtype, MemorySegment data, long i) {
    return switch (dtype) {
      case BOOL -> Boolean.toString(getLong(dtype, data, i) != 0);
      case FLOAT, HALF, BFLOAT16 -> Float.toString((float) getDouble(dtype, data, i));
      case DOUBLE -> Double.toString(getDouble(dtype, data, i));
      case COMPLEX64 ->
          "(" + data.getAtIndex(F32, 2 * i) + "," + data.getAtIndex(F32, 2 * i + 1) + ")";
      case COMPLEX128 ->
          "(" + data.getAtIndex(F64, 2 * i) + "," + data.getAtIndex(F64, 2 * i + 1) + ")";
      case UINT64 -> Long.toUnsignedString(getLong(dtype, data, i));
      default -> Long.toString(getLong(dtype, data, i));
    };
  }

  private static IllegalStateException notANumber(DType dtype) {
    return new IllegalStateException("a " + dtype + " element is not a number");
  }

  private static double unsignedToDouble(long v) {
    return v >= 0 ? v : ((v >>> 1) | (v & 1)) * 2.0;
  }
}
