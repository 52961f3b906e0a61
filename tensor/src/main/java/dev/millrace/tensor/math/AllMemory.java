package dev.millrace.tensor.math;

import java.lang.foreign.MemorySegment;

/**
 * All memory as one segment, for inner loops that are handed addresses. Of a constant the compiler
 * knows that it is not on the heap. What it knows of other segments is what it has met, and the
 * JDK's own vectors, before they are compiled, put themselves into arrays: by chance a loop then
 * boxes its vectors and takes three times as long, for as long as the process lives.
 *
 * <p>A loop that keeps many vectors in registers takes slices of it first, in the same method:
 * their bounds are then checked once before the loop and not, as those of all memory, at every
 * access, which made the tiles of matrix products five times as slow.
 *
 * <p>Nothing is checked here: who calls such a loop has checked what lies at the addresses, and
 * keeps it until the loop returns.
 */
public final class AllMemory {
  public static final MemorySegment ALL = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

  private AllMemory() {}
}
