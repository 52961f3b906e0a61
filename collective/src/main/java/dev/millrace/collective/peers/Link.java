package dev.millrace.collective.peers;

import java.io.IOException;
import java.lang.foreign.MemorySegment;

/**
 * The two streams between this rank and one other. Neither method waits.
 *
 * <p>Threading: one thread at a time.
 */
interface Link {
  /** Takes up to {@code length} bytes; returns how many. */
  long send(MemorySegment data, long offset, long length) throws IOException;

  /** Stores up to {@code length} bytes; returns how many. */
  long receive(MemorySegment into, long offset, long length) throws IOException;

  /** Where the other end is, for messages. */
  String where();

  void close();
}
