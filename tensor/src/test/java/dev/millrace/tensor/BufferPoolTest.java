package dev.millrace.tensor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class BufferPoolTest {
  private static final long LIMIT = 1 << 20;

  private final BufferPool pool = new BufferPool(LIMIT);

  @Test
  void aReleasedBufferServesTheNextOfItsSize() {
    pool.allocate(1000).release();
    pool.allocate(990).release();
    assertEquals(1, pool.nativeAllocations());
    pool.trim();
    assertEquals(0, pool.nativeBytes());
  }

  @Test
  void noMoreIsKeptThanTheLimit() {
    List<Buffer> held = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      held.add(pool.allocate(LIMIT / 8));
    }
    held.forEach(Buffer::release);
    assertEquals(0, pool.usedBytes());
    assertEquals(LIMIT, pool.keptBytes());
    assertEquals(LIMIT, pool.nativeBytes());
    pool.trim();
  }

  @Test
  void aBufferTooLargeToBeKeptBesideOthersGoesBackAtOnce() {
    pool.allocate(LIMIT / 2).release();
    assertEquals(0, pool.nativeBytes());
    Buffer kept = pool.allocate(LIMIT / 4);
    assertTrue(pool.usedBytes() >= LIMIT / 4);
    kept.release();
    assertEquals(LIMIT / 4, pool.keptBytes());
    pool.trim();
  }
}
