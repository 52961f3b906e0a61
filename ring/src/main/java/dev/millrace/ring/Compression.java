package dev.millrace.ring;

import dev.millrace.tensor.DType;

/** The type in which gradients travel between ranks. They are reduced in that type too. */
public enum Compression {
  /** As they are. */
  NONE(null),
  /** Half precision: 11 bits of mantissa, values up to 65504. */
  HALF(DType.HALF),
  /** Brain floats: 8 bits of mantissa, the range of a float. */
  BFLOAT16(DType.BFLOAT16);

  private final DType wire;

  Compression(DType wire) {
    this.wire = wire;
  }

  /** The type in which values of type {@code dtype} travel. */
  DType wireType(DType dtype) {
    boolean shrinks = wire != null && (dtype == DType.FLOAT || dtype == DType.DOUBLE);
    return shrinks ? wire : dtype;
  }
}
