package dev.millrace.ops.queue;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.TinySession;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

class QueueStressTest {
  @AutoClose private final TinySession session = new TinySession();

  /** Whatever steps are cancelled: each element enqueued is dequeued once, and no other is. */
  @Test
  void noElementIsLostOrDoubled() {
    long seed = Long.getLong("millrace.seed", System.nanoTime());
    Random random = new Random(seed);
    Scope scope = session.scope();
    Output q = QueueHandles.fifo(scope, List.of(DType.INT64), List.of(Shape.scalar()), 3);
    Node take = QueueAccess.dequeue(scope, q, List.of(DType.INT64));
    Node takeTwo =
        QueueAccess.dequeueMany(scope, q, session.constant(Tensor.scalar(2)), List.of(DType.INT64));
    List<TinySession.Pending> puts = new ArrayList<>();
    List<TinySession.Pending> takes = new ArrayList<>();
    List<Node> putNodes = new ArrayList<>();
    for (long v = 0; v < 300; v++) {
      putNodes.add(QueueAccess.enqueue(scope, q, List.of(session.constant(Tensor.scalar(v)))));
    }
    for (Node put : putNodes) {
      puts.add(session.start(put));
      takes.add(session.start(random.nextInt(3) == 0 ? takeTwo : take));
      if (random.nextInt(4) == 0) {
        puts.get(random.nextInt(puts.size())).cancel();
      }
      if (random.nextInt(4) == 0) {
        takes.get(random.nextInt(takes.size())).cancel();
      }
    }
    // Whoever still waits to enqueue is let in; then the queue closes and its readers end.
    Node close = QueueAccess.close(scope, q, false);
    TinySession.Pending closing = session.start(close);
    Set<Long> out = new HashSet<>();
    List<Long> all = new ArrayList<>();
    for (int i = 0; i < puts.size(); i++) {
      takes.add(session.start(take));
    }
    closing.get();
    Set<Long> in = new HashSet<>();
    for (int v = 0; v < puts.size(); v++) {
      if (succeeded(puts.get(v), seed) != null) {
        in.add((long) v);
      }
    }
    for (TinySession.Pending p : takes) {
      Tensor[] t = succeeded(p, seed);
      if (t != null) {
        for (long v : t[0].toLongs()) {
          all.add(v);
        }
      }
    }
    Queue queue = session.resources().get("", q.node().name(), Queue.class);
    while (queue.size() > 0) {
      all.add(session.fetch(take.output()).longValue());
    }
    out.addAll(all);
    assertEquals(all.size(), out.size(), "an element came twice; seed " + seed);
    assertEquals(in, out, "seed " + seed);
  }

  private static Tensor[] succeeded(TinySession.Pending p, long seed) {
    try {
      return p.get();
    } catch (MillraceException e) {
      if (e.code() == Code.CANCELLED || e.code() == Code.OUT_OF_RANGE) {
        return null;
      }
      throw new AssertionError("seed " + seed, e);
    }
  }
}
