package dev.millrace.cluster.collective;

import dev.millrace.base.config.ClusterSettings;
import dev.millrace.base.context.Context;
import java.lang.foreign.MemorySegment;

/** A tensor cut into a number of pieces of one length, of which the last may be short or empty. */
record Chunks(MemorySegment whole, long chunkBytes) {
  /** Equal pieces: the length is a multiple of {@code count} elements. */
  static Chunks equal(MemorySegment whole, int count) {
    return new Chunks(whole, whole.byteSize() / count);
  }

  /**
   * Pieces whose length is a multiple of the alignment: the next larger one, even if an even share
   * is a multiple already, as TensorFlow has it.
   */
  static Chunks aligned(MemorySegment whole, int elementBytes, int count) {
    long elements = whole.byteSize() / elementBytes;
    long bytes = (elements + count - 1) / count * elementBytes;
    // What TensorFlow 2 aligns to; another build of it may align otherwise.
    int alignment = Context.current().config().get(ClusterSettings.COLLECTIVE_ALIGNMENT);
    return new Chunks(whole, bytes + alignment - bytes % alignment);
  }

  /** Where piece {@code i} begins. */
  private long start(int i) {
    return Math.min(whole.byteSize(), i * chunkBytes);
  }

  long bytes(int i) {
    return start(i + 1) - start(i);
  }

  MemorySegment get(int i) {
    return whole.asSlice(start(i), bytes(i));
  }
}
