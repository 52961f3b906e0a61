package dev.millrace.runtime.exec;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Rendezvous;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Tensor;
import java.util.List;
import org.junit.jupiter.api.Test;

class LocalRendezvousTest {
  private static final Rendezvous.Key KEY =
      Rendezvous.Key.of("/job:a/task:0/device:CPU:0", 1, "/job:a/task:1/device:CPU:0", "x");

  private final LocalRendezvous rendezvous = new LocalRendezvous();

  /** Remembers what it was told. */
  private static final class Witness implements Rendezvous.Receiver {
    private Float value;
    private MillraceException failure;

    @Override
    public void received(Tensor t, boolean dead) {
      value = t.floatValue();
      Refs.release(t);
    }

    @Override
    public void failed(MillraceException cause) {
      failure = cause;
    }
  }

  private void send(float value) {
    rendezvous.send(KEY, Refs.copy(Tensor.scalar(value)), false);
  }

  @Test
  void sentBeforeReceivedWaits() {
    send(3);
    Witness w = new Witness();
    rendezvous.recv(KEY, w);
    assertEquals(3, w.value);
    assertEquals(0, rendezvous.size());
  }

  @Test
  void receivedBeforeSentWaits() {
    Witness w = new Witness();
    rendezvous.recv(KEY, w);
    assertNull(w.value);
    assertEquals(List.of(KEY.full()), rendezvous.awaited());
    send(4);
    assertEquals(4, w.value);
    assertEquals(0, rendezvous.size());
  }

  @Test
  void aReceiverThatWithdrewIsForgotten() {
    Witness w = new Witness();
    rendezvous.recv(KEY, w);
    rendezvous.withdraw(KEY, w);
    assertEquals(0, rendezvous.size());
    send(5);
    assertNull(w.value);
    rendezvous.withdraw(KEY, w);
    rendezvous.abort(new MillraceException(Code.CANCELLED, "over"));
  }

  @Test
  void anAbortReachesThoseWhoWaitAndThoseWhoCome() {
    Witness before = new Witness();
    Witness after = new Witness();
    rendezvous.recv(KEY, before);
    rendezvous.abort(new MillraceException(Code.ABORTED, "over"));
    rendezvous.recv(KEY, after);
    assertEquals("over", before.failure.getMessage());
    assertEquals("over", after.failure.getMessage());
  }
}
