package dev.millrace.cluster.collective;

import dev.millrace.base.config.ClusterSettings;
import dev.millrace.base.config.Config;
import java.lang.foreign.MemorySegment;

/** A tensor cut into a number of pieces of one length, of which the last may be short or empty. */
record Chunks(MemorySegment whole, long chunkBytes) {
  /** What TensorFlow 2 aligns to; another build of it may have been told otherwise. */
  private static final int ALIGNMENT = Config.ofProcess().get(ClusterSettings.COLLECTIVE_ALIGNMENT);

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
    return new Chunks(whole, bytes + ALIGNMENT - bytes % ALIGNMENT);
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
