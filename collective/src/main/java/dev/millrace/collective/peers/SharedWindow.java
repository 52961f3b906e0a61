package dev.millrace.collective.peers;

import dev.millrace.tensor.Buffer;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.TreeMap;

/**
 * One rank's part of the shared memory, from which it allocates tensors. First fit, with
 * neighbouring free blocks joined. Blocks come from the front, and memory is claimed from the
 * system only as far as they have ever reached.
 *
 * <p>Threading: any thread.
 */
final class SharedWindow {
  private static final long ALIGNMENT = 64;

  /** Memory is claimed in steps of this size. */
  private static final long CLAIM_BYTES = 4 << 20;

  private final SharedMemory memory;
  private final long start;
  private final long end;

  /** Free blocks: where each begins and ends. No two touch. */
  private final TreeMap<Long, Long> free = new TreeMap<>();

  private long claimed;

  /** The bytes {@code [start, end)} of {@code memory}. */
  SharedWindow(SharedMemory memory, long start, long end) {
    this.memory = memory;
    this.start = start;
    this.end = end;
    this.claimed = start;
    if (end > start) {
      free.put(start, end);
    }
  }

  /** A buffer of at least {@code bytes}, or null when there is no room. */
  @SuppressWarnings("ModifyCollectionInEnhancedForLoop") // The loop ends with the change.
  synchronized Buffer allocate(long bytes) {
    long size = Math.max(ALIGNMENT, (bytes + ALIGNMENT - 1) & -ALIGNMENT);
    for (Map.Entry<Long, Long> block : free.entrySet()) {
      long from = block.getKey();
      long to = from + size;
      if (to <= block.getValue()) {
        if (!reach(to)) {
          return null;
        }
        free.remove(from);
        if (to < block.getValue()) {
          free.put(to, block.getValue());
        }
        // The buffer refers to its owner, so to this window and the memory: it cannot dangle.
        return Buffer.over(memory.segment().asSlice(from, size), b -> release(from, to));
      }
    }
    return null;
  }

  private boolean reach(long to) {
    if (to <= claimed) {
      return true;
    }
    long goal =
        Math.min(end, claimed + (to - claimed + CLAIM_BYTES - 1) / CLAIM_BYTES * CLAIM_BYTES);
    try {
      memory.claim(claimed, goal);
    } catch (IOException e) {
      // The file system that backs the memory is full. The caller has other memory.
      return false;
    }
    claimed = goal;
    return true;
  }

  private synchronized void release(long from, long to) {
    long begin = from;
    long finish = to;
    Map.Entry<Long, Long> before = free.lowerEntry(from);
    if (before != null && before.getValue() == from) {
      begin = before.getKey();
    }
    Long after = free.remove(to);
    if (after != null) {
      finish = after;
    }
    free.put(begin, finish);
  }

  /** Where a segment is in the region if it is in this window, else -1. */
  long offsetOf(MemorySegment segment) {
    long at = segment.address() - memory.segment().address();
    return at >= start && at + segment.byteSize() <= end ? at : -1;
  }
}
