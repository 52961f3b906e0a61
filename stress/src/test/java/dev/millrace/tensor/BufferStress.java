package dev.millrace.tensor;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicInteger;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;
import org.openjdk.jcstress.infra.results.I_Result;

/** A buffer goes back to its owner exactly once: with its last holder, whoever comes last. */
public final class BufferStress {
  private static final MemorySegment MEMORY = Arena.global().allocate(64);

  private BufferStress() {}

  /** Two holders release at once. */
  @JCStressTest
  @Outcome(id = "1", expect = Expect.ACCEPTABLE, desc = "Reclaimed once.")
  @Outcome(expect = Expect.FORBIDDEN, desc = "Lost, or given back twice.")
  @State
  public static class TwoHoldersRelease {
    private final AtomicInteger reclaimed = new AtomicInteger();
    private final Buffer buffer = Buffer.over(MEMORY, _ -> reclaimed.incrementAndGet());

    public TwoHoldersRelease() {
      buffer.retain();
    }

    @Actor
    public void first() {
      buffer.release();
    }

    @Actor
    public void second() {
      buffer.release();
    }

    @Arbiter
    public void after(I_Result r) {
      r.r1 = reclaimed.get();
    }
  }

  /** A reader of a handle holds the memory while the last holder lets go of it. */
  @JCStressTest
  @Outcome(id = "0, 1", expect = Expect.ACCEPTABLE, desc = "Too late: refused.")
  @Outcome(id = "1, 1", expect = Expect.ACCEPTABLE, desc = "Held, then released.")
  @Outcome(expect = Expect.FORBIDDEN, desc = "Held after it was reclaimed, lost, or back twice.")
  @State
  public static class ReaderMeetsLastRelease {
    private final AtomicInteger reclaimed = new AtomicInteger();
    private final Buffer buffer = Buffer.over(MEMORY, _ -> reclaimed.incrementAndGet());

    @Actor
    public void reader(II_Result r) {
      if (buffer.tryRetain()) {
        r.r1 = reclaimed.get() == 0 ? 1 : 2;
        buffer.release();
      }
    }

    @Actor
    public void last() {
      buffer.release();
    }

    @Arbiter
    public void after(II_Result r) {
      r.r2 = reclaimed.get();
    }
  }
}
