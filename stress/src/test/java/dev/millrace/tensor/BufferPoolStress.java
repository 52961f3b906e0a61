package dev.millrace.tensor;

import java.lang.foreign.ValueLayout;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;

/** The pool never gives a buffer to two holders, and its counts of bytes stay right. */
public final class BufferPoolStress {
  private static final int BYTES = 64;

  private BufferPoolStress() {}

  /** Two threads take, write, read and give back; one buffer lies ready for both. */
  @JCStressTest
  @Outcome(id = "1, 2, 0", expect = Expect.ACCEPTABLE, desc = "Each has its own memory.")
  @Outcome(expect = Expect.FORBIDDEN, desc = "Both had the same memory, or a count is wrong.")
  @State
  public static class TwoTake {
    private final BufferPool pool = new BufferPool(1 << 20);

    public TwoTake() {
      pool.allocate(BYTES).release();
    }

    private int use(int mine) {
      Buffer b = pool.allocate(BYTES);
      b.memory().set(ValueLayout.JAVA_INT, 0, mine);
      int found = b.memory().get(ValueLayout.JAVA_INT, 0);
      b.release();
      return found;
    }

    @Actor
    public void first(III_Result r) {
      r.r1 = use(1);
    }

    @Actor
    public void second(III_Result r) {
      r.r2 = use(2);
    }

    @Arbiter
    public void after(III_Result r) {
      r.r3 = (int) pool.usedBytes();
      pool.close();
      r.r3 += (int) pool.nativeBytes();
    }
  }

  /** A buffer comes back while the pool is closed: it goes to the system, not into the pool. */
  @JCStressTest
  @Outcome(id = "0, 0, 0", expect = Expect.ACCEPTABLE, desc = "Nothing is kept.")
  @Outcome(expect = Expect.FORBIDDEN, desc = "Memory is kept for good.")
  @State
  public static class ReleaseMeetsClose {
    private final BufferPool pool = new BufferPool(1 << 20);
    private final Buffer buffer = pool.allocate(BYTES);

    @Actor
    public void release() {
      buffer.release();
    }

    @Actor
    public void close() {
      pool.close();
    }

    @Arbiter
    public void after(III_Result r) {
      r.r1 = (int) pool.nativeBytes();
      r.r2 = (int) pool.keptBytes();
    }
  }
}
