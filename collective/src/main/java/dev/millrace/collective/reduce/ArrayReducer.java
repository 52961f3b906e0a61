package dev.millrace.collective.reduce;

import java.lang.foreign.MemorySegment;

/**
 * Reduces element types the Vector API has no arithmetic for: blocks are copied into arrays, where
 * the compiler makes vector code of plain loops, and copied back.
 *
 * @param <A> the array type
 */
abstract class ArrayReducer<A> extends Reducer {
  private static final long BLOCK_BYTES = 8 << 10;

  ArrayReducer(ReduceOp op, int elementBytes) {
    super(op, elementBytes);
  }

  @Override
  final void loop(
      MemorySegment a,
      long aAt,
      MemorySegment b,
      long bAt,
      MemorySegment out,
      long outAt,
      long bytes) {
    int capacity = (int) Math.min(BLOCK_BYTES, bytes) / elementBytes();
    A x = array(capacity);
    A y = array(capacity);
    for (long done = 0; done < bytes; done += BLOCK_BYTES) {
      int n = (int) Math.min(BLOCK_BYTES, bytes - done) / elementBytes();
      load(a, aAt + done, x, n);
      load(b, bAt + done, y, n);
      reduce(x, y, n);
      store(x, out, outAt + done, n);
    }
  }

  @Override
  final void divide(MemorySegment x, long at, long bytes, int divisor) {
    A v = array((int) Math.min(BLOCK_BYTES, bytes) / elementBytes());
    for (long done = 0; done < bytes; done += BLOCK_BYTES) {
      int n = (int) Math.min(BLOCK_BYTES, bytes - done) / elementBytes();
      load(x, at + done, v, n);
      divide(v, n, divisor);
      store(v, x, at + done, n);
    }
  }

  abstract A array(int n);

  abstract void load(MemorySegment from, long at, A into, int n);

  abstract void store(A from, MemorySegment into, long at, int n);

  /** {@code x[i] = x[i] op y[i]}. */
  abstract void reduce(A x, A y, int n);

  abstract void divide(A x, int n, int divisor);
}
