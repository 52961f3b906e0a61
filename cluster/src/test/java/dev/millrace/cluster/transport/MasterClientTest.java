package dev.millrace.cluster.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Cancellation;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.tensor.Buffer;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

class MasterClientTest {
  @Test
  void resultsThatComeAfterAnInterruptAreReleased() {
    CompletableFuture<List<Tensor>> answer = new CompletableFuture<>();
    Cancellation cancellation = new Cancellation();
    Thread.currentThread().interrupt();
    MillraceException e =
        assertThrows(
            MillraceException.class,
            () -> MasterClient.await(Timers.system(), answer, cancellation, "The master"));
    assertEquals(Code.CANCELLED, e.code());
    assertTrue(Thread.interrupted(), "it is still known to be interrupted");
    assertTrue(cancellation.isCancelled());
    AtomicBoolean released = new AtomicBoolean();
    try (Arena arena = Arena.ofConfined()) {
      Buffer memory = Buffer.over(arena.allocate(4), b -> released.set(true));
      answer.complete(List.of(Refs.ofBuffer(DType.FLOAT, Shape.of(1), memory)));
      assertTrue(released.get(), "nobody else will release it");
    }
  }
}
