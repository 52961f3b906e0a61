package dev.millrace.tensor.math.elementwise;

import dev.millrace.tensor.Shape;

/** Where an operand that broadcasts has the element for each place of the result. */
public final class BroadcastIndex {
  private final long[] dims;

  /** Elements of the operand from one index to the next; 0 where it repeats. */
  private final long[] strides;

  /** For an operand of a shape that broadcasts to that of the result. */
  public BroadcastIndex(Shape operand, Shape result) {
    dims = result.dims();
    strides = new long[dims.length];
    long dense = 1;
    for (int i = 1; i <= operand.rank(); i++) {
      long own = operand.dim(-i);
      strides[dims.length - i] = own == 1 ? 0 : dense;
      dense *= own;
    }
  }

  /** The index in the operand for element {@code i} of the result, both in row-major order. */
  public long of(long i) {
    long at = 0;
    for (int d = dims.length - 1; d >= 0; d--) {
      at += i % dims[d] * strides[d];
      i /= dims[d];
    }
    return at;
  }
}
