package dev.millrace.collective.algorithm;

import dev.millrace.tensor.Buffer;
import dev.millrace.tensor.BufferPool;
import java.lang.foreign.MemorySegment;

/** Working memory kept from call to call, grown when more is asked for. Contents are undefined. */
final class Scratch implements AutoCloseable {
  private Buffer buffer;

  /** At least this much; what was handed out before is no longer valid. */
  MemorySegment atLeast(long bytes) {
    if (buffer == null || buffer.capacityBytes() < bytes) {
      close();
      buffer = BufferPool.current().allocate(bytes);
    }
    return buffer.memory();
  }

  @Override
  public void close() {
    if (buffer != null) {
      buffer.release();
      buffer = null;
    }
  }
}
