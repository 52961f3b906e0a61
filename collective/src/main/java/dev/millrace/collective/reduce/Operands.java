package dev.millrace.collective.reduce;

import java.lang.foreign.MemorySegment;

/** Places in native memory, in the order in which a reduction takes or writes them. Reusable. */
public final class Operands {
  private final MemorySegment[] segments;
  private final long[] at;
  private int count;

  /** Room for this many places. */
  public Operands(int capacity) {
    segments = new MemorySegment[capacity];
    at = new long[capacity];
  }

  /** Forgets all places. */
  public Operands clear() {
    count = 0;
    return this;
  }

  /** Appends a place. */
  public Operands add(MemorySegment segment, long offset) {
    segments[count] = segment;
    at[count++] = offset;
    return this;
  }

  int count() {
    return count;
  }

  MemorySegment segment(int i) {
    return segments[i];
  }

  long at(int i) {
    return at[i];
  }
}
