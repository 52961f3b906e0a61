package dev.millrace.tensor;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * The pattern that tests fill memory with while it holds no tensor: not a number in every floating
 * type, an unlikely number in the others. Whoever reads it has read too early or too late; where it
 * is gone, somebody wrote too late.
 */
final class Poison {
  private static final long PATTERN = 0xFFF5FFF5_FFF5FFF5L;

  /** So much of memory from the system is filled: more would make large tensors take real pages. */
  private static final long START_BYTES = 1 << 20;

  private Poison() {}

  /** Fills all of it. */
  static void fill(MemorySegment memory) {
    for (long i = 0; i < memory.byteSize() / Long.BYTES; i++) {
      memory.setAtIndex(ValueLayout.JAVA_LONG, i, PATTERN);
    }
  }

  /** Fills the start of new memory. */
  static void fillStart(MemorySegment memory) {
    fill(memory.asSlice(0, Math.min(memory.byteSize(), START_BYTES)));
  }

  /** Whether all of it is as {@link #fill} left it. */
  static boolean isIn(MemorySegment memory) {
    for (long i = 0; i < memory.byteSize() / Long.BYTES; i++) {
      if (memory.getAtIndex(ValueLayout.JAVA_LONG, i) != PATTERN) {
        return false;
      }
    }
    return true;
  }
}
