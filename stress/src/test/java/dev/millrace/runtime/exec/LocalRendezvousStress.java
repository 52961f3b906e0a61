package dev.millrace.runtime.exec;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Rendezvous;
import dev.millrace.tensor.Buffer;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicInteger;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;

/** A receiver is told exactly once, and a value is released exactly once. */
public final class LocalRendezvousStress {
  private static final Rendezvous.Key KEY = Rendezvous.Key.of("/a", 1, "/b", "x");
  private static final MemorySegment MEMORY = Arena.global().allocate(64);

  private LocalRendezvousStress() {}

  /** A rendezvous, a value for it, and a receiver that counts what it is told. */
  private static class Meeting implements Rendezvous.Receiver {
    final LocalRendezvous rendezvous = new LocalRendezvous();
    final AtomicInteger reclaimed = new AtomicInteger();
    final Tensor value =
        Refs.ofBuffer(
            DType.FLOAT, Shape.scalar(), Buffer.over(MEMORY, _ -> reclaimed.incrementAndGet()));
    final AtomicInteger received = new AtomicInteger();
    final AtomicInteger failed = new AtomicInteger();

    @Override
    public void received(Tensor t, boolean dead) {
      received.incrementAndGet();
      Refs.release(t);
    }

    @Override
    public void failed(MillraceException cause) {
      failed.incrementAndGet();
    }

    void result(III_Result r) {
      r.r1 = received.get();
      r.r2 = failed.get();
      r.r3 = reclaimed.get();
    }
  }

  /** Either may come first. */
  @JCStressTest
  @Outcome(id = "1, 0, 1", expect = Expect.ACCEPTABLE, desc = "Received.")
  @Outcome(expect = Expect.FORBIDDEN, desc = "The two missed each other.")
  @State
  public static class SendMeetsReceive {
    private final Meeting m = new Meeting();

    @Actor
    public void send() {
      m.rendezvous.send(KEY, m.value, false);
    }

    @Actor
    public void receive() {
      m.rendezvous.recv(KEY, m);
    }

    @Arbiter
    public void after(III_Result r) {
      m.result(r);
    }
  }

  /** The step fails while a receiver waits and its value arrives. */
  @JCStressTest
  @Outcome(id = "1, 0, 1", expect = Expect.ACCEPTABLE, desc = "Received before the end.")
  @Outcome(id = "0, 1, 1", expect = Expect.ACCEPTABLE, desc = "Failed; the value is released.")
  @Outcome(expect = Expect.FORBIDDEN, desc = "Told twice or never, or the value leaks.")
  @State
  public static class SendMeetsAbort {
    private final Meeting m = new Meeting();

    public SendMeetsAbort() {
      m.rendezvous.recv(KEY, m);
    }

    @Actor
    public void send() {
      m.rendezvous.send(KEY, m.value, false);
    }

    @Actor
    public void abort() {
      m.rendezvous.abort(new MillraceException(Code.ABORTED, "the step has failed"));
    }

    @Arbiter
    public void after(III_Result r) {
      m.result(r);
    }
  }

  /** The step fails while a value waits and its receiver comes. */
  @JCStressTest
  @Outcome(id = "1, 0, 1", expect = Expect.ACCEPTABLE, desc = "Received before the end.")
  @Outcome(id = "0, 1, 1", expect = Expect.ACCEPTABLE, desc = "Failed; the value is released.")
  @Outcome(expect = Expect.FORBIDDEN, desc = "Told twice or never, or the value leaks.")
  @State
  public static class ReceiveMeetsAbort {
    private final Meeting m = new Meeting();

    public ReceiveMeetsAbort() {
      m.rendezvous.send(KEY, m.value, false);
    }

    @Actor
    public void receive() {
      m.rendezvous.recv(KEY, m);
    }

    @Actor
    public void abort() {
      m.rendezvous.abort(new MillraceException(Code.ABORTED, "the step has failed"));
    }

    @Arbiter
    public void after(III_Result r) {
      m.result(r);
    }
  }
}
