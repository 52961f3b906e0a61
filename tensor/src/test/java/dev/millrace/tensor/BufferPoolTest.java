package dev.millrace.tensor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.leak.LeakCheck;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
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

  @Test
  void aSizeThatNoMachineHasIsRefused() {
    for (long bytes : new long[] {(7L << 60) + 1, Long.MAX_VALUE}) {
      MillraceException e = assertThrows(MillraceException.class, () -> pool.allocate(bytes));
      assertEquals(Code.RESOURCE_EXHAUSTED, e.code());
      assertTrue(e.getMessage().contains(Long.toString(bytes)), e::getMessage);
    }
    assertEquals(0, pool.nativeBytes());
  }

  @Test
  void releasedMemoryHoldsNoNumber() {
    Buffer b = pool.allocate(1000);
    b.memory().fill((byte) 0);
    b.release();
    for (long i = 0; i < 250; i++) {
      assertTrue(Float.isNaN(b.memory().getAtIndex(ValueLayout.JAVA_FLOAT, i)));
    }
    pool.trim();
  }

  @Test
  void memoryWrittenAfterItsReleaseIsFound() throws InterruptedException {
    Buffer late = pool.allocate(1000);
    late.release();
    late.memory().set(ValueLayout.JAVA_BYTE, 5, (byte) 1);
    pool.allocate(1000).release();
    List<AssertionError> findings = LeakCheck.collect(Duration.ofSeconds(20));
    assertEquals(1, findings.size(), findings::toString);
    String message = findings.getFirst().getMessage();
    assertEquals("A buffer of 1024 bytes was written after its release.", message);
    StackTraceElement[] place = findings.getFirst().getCause().getStackTrace();
    assertTrue(
        Arrays.stream(place)
            .anyMatch(f -> f.getMethodName().equals("memoryWrittenAfterItsReleaseIsFound")));
    pool.trim();
  }
}
