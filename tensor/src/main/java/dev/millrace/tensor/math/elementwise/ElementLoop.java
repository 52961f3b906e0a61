package dev.millrace.tensor.math.elementwise;

import java.lang.foreign.MemorySegment;

/**
 * A loop over the elements of several operands at once, some read, some written. Made by {@link
 * LoopCompiler} or from {@link ScalarLoop}; has no state.
 */
interface ElementLoop {
  /**
   * Runs over {@code rows} rows of {@code n} elements. In row r, operand k has its elements from
   * byte {@code at[k] + r * step[k]} of {@code memory[k]} on: n of them one after the other, or one
   * for the whole row if the loop was made so. An operand that is written may be the same memory as
   * one that is read if both are walked alike.
   */
  void run(MemorySegment[] memory, long[] at, long[] step, long rows, long n, double[] parameters);
}
