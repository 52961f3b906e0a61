package dev.millrace.collective.peers;

import java.io.IOException;
import java.lang.foreign.MemorySegment;

/**
 * The two streams between this rank and one other. Neither method waits.
 *
 * <p>Threading: one thread at a time.
 */
interface PeerLink {
  /** Takes up to {@code length} bytes; returns how many. */
  long send(MemorySegment data, long offset, long length) throws IOException;

  /** Takes {@code head} and {@code data} behind it, or the first bytes of that. */
  default long send(MemorySegment head, MemorySegment data) throws IOException {
    long n = send(head, 0, head.byteSize());
    return n < head.byteSize() ? n : n + send(data, 0, data.byteSize());
  }

  /** Stores up to {@code length} bytes; returns how many. */
  long receive(MemorySegment into, long offset, long length) throws IOException;

  /** Where the other end is, for messages. */
  String where();

  void close();
}
