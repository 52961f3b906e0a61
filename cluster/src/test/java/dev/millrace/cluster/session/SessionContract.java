package dev.millrace.cluster.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.cluster.Server;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.NodeBuilder;
import dev.millrace.graph.Op;
import dev.millrace.graph.OpRegistry;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.runtime.Session;
import dev.millrace.runtime.SessionOptions;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.function.Executable;

/**
 * What the parts of the session contract have in common: a server for the kinds that need one, a
 * graph, and errors compared word by word.
 *
 * <p>Only what must differ is made equal first, by {@link #normalized}: the name of the task, the
 * line that says from which task an error comes, and the number of the step.
 */
abstract class SessionContract {
  static final Code INVALID = Code.INVALID_ARGUMENT;

  /** Counts the executions of {@link #BLOCK} that wait. */
  static final Semaphore BLOCKED = new Semaphore(0);

  /** Waits until its step is cancelled. */
  static final Op BLOCK =
      Op.define("Block")
          .output("y: float")
          .stateful()
          .shape(Shapes.scalar())
          .asyncKernel(
              node ->
                  (c, done) -> {
                    c.cancellation()
                        .onCancel(
                            () -> {
                              c.fail(c.cancellation().cause());
                              done.run();
                            });
                    BLOCKED.release();
                  })
          .noGradient("for tests")
          .build();

  /** An op that this machine has no kernel for. */
  static final Op NO_KERNEL =
      Op.define("NoKernel")
          .output("y: float")
          .stateful()
          .shape(Shapes.scalar())
          .kernelPerNode(
              node -> {
                throw new MillraceException(
                    Code.UNIMPLEMENTED, "NoKernel '" + node.name() + "' has no kernel here.");
              })
          .noGradient("for tests")
          .build();

  private static final OpRegistry REGISTRY = registry();
  private static Server server;

  final Graph graph = new Graph(REGISTRY);
  final Scope scope = Scope.of(graph);
  private final List<Tensor> tensors = new ArrayList<>();

  private static OpRegistry registry() {
    List<Op> ops = new ArrayList<>(StandardOps.ALL);
    ops.add(BLOCK);
    ops.add(NO_KERNEL);
    return OpRegistry.of(ops);
  }

  @BeforeAll
  static void startServer() {
    server = Server.createLocalServer(REGISTRY);
  }

  @AfterAll
  static void stopServer() {
    server.close();
  }

  /** Nothing of a closed session is left on its task; the calls that clean up have no caller. */
  @AfterEach
  void nothingIsLeft() {
    tensors.forEach(Tensor::close);
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    while (server.worker().sessionCount() + server.worker().stepCount() > 0
        && System.nanoTime() < deadline) {
      Thread.onSpinWait();
    }
    assertEquals(0, server.worker().sessionCount(), "sessions are left");
    assertEquals(0, server.worker().stepCount(), "steps are left");
  }

  Session open(SessionKind kind) {
    return open(kind, SessionOptions.DEFAULT_STEP_TIMEOUT);
  }

  Session open(SessionKind kind, Duration stepTimeout) {
    return kind.open(graph, server, stepTimeout);
  }

  /** A tensor that is closed after the test. */
  Tensor kept(Tensor t) {
    tensors.add(t);
    return t;
  }

  List<Tensor> kept(List<Tensor> all) {
    tensors.addAll(all);
    return all;
  }

  Output placeholder(String name, DType type, Shape shape) {
    return Placeholder.of(scope.withName(name), type, shape);
  }

  Output floats(String name, long... dims) {
    return placeholder(name, DType.FLOAT, Shape.of(dims));
  }

  Output node(String name, String op, Output... inputs) {
    NodeBuilder node = scope.withName(name).node(op);
    for (Output in : inputs) {
      node.input(in);
    }
    return node.add().output();
  }

  Tensor fetch(Session s, Output output) {
    return kept(s.fetch(output));
  }

  Tensor fetch(Session s, Output output, Output fed, Tensor value) {
    return kept(s.fetch(output, Map.of(fed, kept(value))));
  }

  static void run(Session s, Node... targets) {
    s.run(targets);
  }

  /** Fails unless {@code mistake} has exactly this code and, but for what must differ, message. */
  static void refused(Code code, String message, Executable mistake) {
    MillraceException e = assertThrows(MillraceException.class, mistake);
    assertEquals(message, normalized(e.getMessage()));
    assertEquals(code, e.code(), e::getMessage);
    assertTrue(!e.isDerived(), "it is the cause and no echo");
  }

  /** A message without the name of the task and the number of the step. */
  static String normalized(String message) {
    return message
        .replaceFirst("^From /job:\\w+/replica:0/task:0:\n", "")
        .replaceAll("/job:\\w+/replica:0/task:0", "TASK")
        .replaceAll("Step \\d+", "Step N");
  }

  /** What a run on a thread of its own ends with: a failure, or null if it ended well. */
  static CompletableFuture<Throwable> inBackground(Executable run, Thread[] thread) {
    CompletableFuture<Throwable> end = new CompletableFuture<>();
    Thread t =
        Thread.ofPlatform()
            .unstarted(
                () -> {
                  try {
                    run.execute();
                    end.complete(null);
                  } catch (Throwable e) {
                    end.complete(e);
                  }
                });
    if (thread != null) {
      thread[0] = t;
    }
    t.start();
    return end;
  }

  /** Waits until {@code n} more executions of {@link #BLOCK} wait. */
  static void awaitBlocked(int n) throws InterruptedException {
    assertTrue(BLOCKED.tryAcquire(n, 60, TimeUnit.SECONDS), "the step has not begun to wait");
  }

  static Executable rethrowing(CompletableFuture<Throwable> end) {
    return () -> {
      Throwable e = end.get(60, TimeUnit.SECONDS);
      if (e != null) {
        throw e;
      }
    };
  }
}
