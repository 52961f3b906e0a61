package dev.millrace.runtime;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.math.MatMul;
import dev.millrace.ops.queue.QueueAccess;
import dev.millrace.ops.queue.QueueHandles;
import dev.millrace.ops.state.Assign;
import dev.millrace.ops.state.VariableV2;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Test;

class ConcurrentRunsTest {
  private final Scope scope = Scope.of(StandardOps.newGraph());

  @Test
  void manyRunsAtOnceEachGiveTheirOwnResult() throws Exception {
    Output x = Placeholder.of(scope, DType.FLOAT, Shape.of(40, 40));
    Output y = MatMul.of(scope, MatMul.of(scope, x, x), x);
    try (Session session = new LocalSession(scope.graph());
        ExecutorService threads = Executors.newFixedThreadPool(8)) {
      List<Future<float[]>> results = new ArrayList<>();
      for (int i = 0; i < 200; i++) {
        float[] diagonal = new float[1600];
        for (int d = 0; d < 40; d++) {
          diagonal[41 * d] = i;
        }
        Map<Output, Tensor> feeds = Map.of(x, Tensor.of(Shape.of(40, 40), diagonal));
        results.add(threads.submit(() -> session.fetch(y, feeds).toFloats()));
      }
      for (int i = 0; i < 200; i++) {
        float[] cube = results.get(i).get(60, TimeUnit.SECONDS);
        assertEquals((float) i * i * i, cube[41 * 7]);
        assertEquals(0, cube[1]);
      }
    }
  }

  @Test
  void updatesOfConcurrentRunsAllCount() throws Exception {
    Output v = VariableV2.of(scope, DType.FLOAT, Shape.of(3));
    Node start = Assign.of(scope, v, Const.of(scope, Tensor.vector(0f, 0f, 0f)));
    Node add =
        scope
            .node("AssignAdd")
            .input(v)
            .input(Const.of(scope, Tensor.vector(1f, 2f, 3f)))
            .attr("use_locking", true)
            .add();
    try (Session session = new LocalSession(scope.graph());
        ExecutorService threads = Executors.newFixedThreadPool(4)) {
      session.run(start);
      List<Future<?>> runs = new ArrayList<>();
      for (int i = 0; i < 400; i++) {
        runs.add(threads.submit(() -> session.run(add)));
      }
      for (Future<?> f : runs) {
        f.get(60, TimeUnit.SECONDS);
      }
      assertArrayEquals(new float[] {400, 800, 1200}, session.fetch(v).toFloats());
    }
  }

  @Test
  void runsThatWaitForAQueueLeaveTheComputeThreadsFree() throws Exception {
    Output queue = QueueHandles.fifo(scope, List.of(DType.FLOAT), List.of(Shape.scalar()), 100);
    Output in = Placeholder.of(scope, DType.FLOAT, Shape.scalar());
    Node put = QueueAccess.enqueue(scope, queue, List.of(in));
    Output taken = QueueAccess.dequeue(scope, queue, List.of(DType.FLOAT)).output(0);
    Output x = Placeholder.of(scope, DType.FLOAT, Shape.of(300, 300));
    Output y = MatMul.of(scope, x, x);
    int waiters = 64;
    try (Session session = new LocalSession(scope.graph());
        ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Future<Float>> waiting = new ArrayList<>();
      for (int i = 0; i < waiters; i++) {
        waiting.add(threads.submit(() -> session.fetch(taken).floatValue()));
      }
      Tensor ones = Tensor.of(Shape.of(300, 300), new float[90_000]);
      Future<Tensor> product = threads.submit(() -> session.fetch(y, Map.of(x, ones)));
      assertEquals(90_000, product.get(60, TimeUnit.SECONDS).elements());
      assertTrue(waiting.stream().noneMatch(Future::isDone));
      for (int i = 0; i < waiters; i++) {
        session.run(Map.of(in, Tensor.scalar((float) i)), put);
      }
      float sum = 0;
      for (Future<Float> w : waiting) {
        sum += w.get(60, TimeUnit.SECONDS);
      }
      assertEquals(waiters * (waiters - 1) / 2f, sum);
    }
  }

  @Test
  void interruptingARunThatWaitsCancelsIt() throws Exception {
    Output queue = QueueHandles.fifo(scope, List.of(DType.FLOAT), List.of(Shape.scalar()), 1);
    Output taken = QueueAccess.dequeue(scope, queue, List.of(DType.FLOAT)).output(0);
    try (Session session = new LocalSession(scope.graph())) {
      CompletableFuture<Tensor> result = new CompletableFuture<>();
      Thread runner =
          Thread.ofPlatform()
              .start(
                  () -> {
                    try {
                      result.complete(session.fetch(taken));
                    } catch (Throwable t) {
                      result.completeExceptionally(t);
                    }
                  });
      runner.interrupt();
      ExecutionException e =
          Assertions.assertThrows(ExecutionException.class, () -> result.get(60, TimeUnit.SECONDS));
      MillraceException cause = assertInstanceOf(MillraceException.class, e.getCause());
      assertEquals(Code.CANCELLED, cause.code(), cause::getMessage);
    }
  }
}
