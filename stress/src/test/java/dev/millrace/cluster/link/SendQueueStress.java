package dev.millrace.cluster.link;

import dev.millrace.base.Platform;
import java.util.concurrent.atomic.AtomicInteger;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/** Every frame is written at most once and released exactly once; none is left behind. */
public final class SendQueueStress {
  private SendQueueStress() {}

  /** Counts what becomes of the frames of one queue. */
  private static class Frames {
    final AtomicInteger written = new AtomicInteger();
    final AtomicInteger released = new AtomicInteger();
    final SendQueue queue =
        new SendQueue(
            new LinkOutput(null, 1),
            Runnable::run,
            e -> {
              throw new AssertionError(e);
            },
            Platform.system());

    SendQueue.Frame frame() {
      return new SendQueue.Frame() {
        @Override
        public void write(LinkOutput out) {
          written.incrementAndGet();
        }

        @Override
        public void release() {
          released.incrementAndGet();
        }
      };
    }
  }

  /** One thread writes what another adds: a frame added while it looks away is not left behind. */
  @JCStressTest
  @Outcome(id = "2, 2", expect = Expect.ACCEPTABLE, desc = "Both went out.")
  @Outcome(expect = Expect.FORBIDDEN, desc = "A frame was left behind or sent twice.")
  @State
  public static class TwoSend {
    private final Frames frames = new Frames();

    @Actor
    public void first() {
      frames.queue.sendNow(frames.frame());
    }

    @Actor
    public void second() {
      frames.queue.sendLater(frames.frame());
    }

    @Arbiter
    public void after(II_Result r) {
      r.r1 = frames.written.get();
      r.r2 = frames.released.get();
    }
  }

  /** The link is lost while a frame is sent. */
  @JCStressTest
  @Outcome(id = "0, 1", expect = Expect.ACCEPTABLE, desc = "Released unsent.")
  @Outcome(id = "1, 1", expect = Expect.ACCEPTABLE, desc = "Sent before.")
  @Outcome(expect = Expect.FORBIDDEN, desc = "Its tensor leaks, or is released twice.")
  @State
  public static class SendMeetsClose {
    private final Frames frames = new Frames();

    @Actor
    public void send() {
      frames.queue.sendLater(frames.frame());
    }

    @Actor
    public void close() {
      frames.queue.close();
    }

    @Arbiter
    public void after(II_Result r) {
      r.r1 = frames.written.get();
      r.r2 = frames.released.get();
    }
  }
}
