package dev.millrace.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.config.CallerLimits;
import dev.millrace.base.config.ClusterSettings;
import dev.millrace.base.config.ComputeSettings;
import dev.millrace.base.config.Config;
import dev.millrace.base.context.Context;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.cluster.transport.StatusClient;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Op;
import dev.millrace.graph.OpRegistry;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.proto.TaskFacts;
import dev.millrace.runtime.LocalSession;
import dev.millrace.runtime.Session;
import dev.millrace.runtime.SessionOptions;
import dev.millrace.tensor.BufferPool;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.Parallel;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Two servers of one JVM with a context each share no settings, threads, memory or gauges. */
class TwoContextsTest {
  private static final int MEBIBYTE = 1 << 20;

  /** Gives the number of compute threads of the context that its kernel runs in. */
  private static final Op THREADS =
      Op.define("ComputeThreads")
          .output("n: float")
          .stateful()
          .shape(Shapes.scalar())
          .kernel(c -> c.output(0, scalar(Parallel.threads())))
          .noGradient("a test")
          .build();

  /** Makes a tensor of 1 MiB. */
  private static final Op LARGE =
      Op.define("Large")
          .output("y: float")
          .stateful()
          .shape(c -> List.of(Shape.of(MEBIBYTE / 4)))
          .kernel(c -> c.allocate(0, Shape.of(MEBIBYTE / 4)))
          .noGradient("a test")
          .build();

  private static final OpRegistry REGISTRY = StandardOps.registry().with(List.of(THREADS, LARGE));

  private final Context one =
      Context.of(
          "one",
          Config.defaults()
              .with(ComputeSettings.THREADS, 1)
              .with(ComputeSettings.POOL_BYTES, 64L * MEBIBYTE)
              .with(CallerLimits.LIMIT_MESSAGE_BYTES, 4096));

  private final Context two =
      Context.of(
          "two",
          Config.defaults()
              .with(ComputeSettings.THREADS, 3)
              .with(ComputeSettings.POOL_BYTES, (long) MEBIBYTE)
              .with(ClusterSettings.LINK, false));

  private final Server first = start(one);
  private final Server second = start(two);
  private final Graph graph = new Graph(REGISTRY);
  private final Output threads = Scope.of(graph).node("ComputeThreads").add().output();
  private final Output large = Scope.of(graph).node("Large").add().output();

  private static Tensor scalar(float v) {
    Tensor t = Refs.allocate(DType.FLOAT, Shape.scalar());
    t.setDouble(0, v);
    return t;
  }

  private static Server start(Context context) {
    ClusterSpec cluster = ClusterSpec.of(Map.of("worker", List.of("localhost:0")));
    return Server.start(cluster, new TaskId("worker", 0), REGISTRY, context);
  }

  @AfterEach
  void close() {
    first.close();
    second.close();
    one.close();
    two.close();
  }

  private static float fetched(Session session, Output output) {
    try (Tensor t = session.fetch(output)) {
      return t.toFloats()[0];
    }
  }

  @Test
  void kernelsUseTheComputeThreadsOfTheirServer() {
    // This thread is in neither context: sessions go over the network as those of other processes.
    try (Session s = new ClusterSession(graph, first.target());
        Session t = new ClusterSession(graph, second.target())) {
      assertEquals(1, fetched(s, threads));
      assertEquals(3, fetched(t, threads));
    }
    // And here they run on the calling thread.
    try (Session s = first.session(graph);
        Session t = second.session(graph);
        Session u = new LocalSession(graph, SessionOptions.DEFAULT.withContext(two))) {
      assertEquals(1, fetched(s, threads));
      assertEquals(3, fetched(t, threads));
      assertEquals(3, fetched(u, threads));
    }
    assertSame(Context.ofProcess(), Context.current());
  }

  @Test
  void tensorsComeFromThePoolOfTheirServerAndGoBackThere() {
    BufferPool firsts = one.call(BufferPool::current);
    BufferPool seconds = two.call(BufferPool::current);
    assertNotSame(firsts, seconds);
    assertNotSame(BufferPool.current(), seconds);
    long others = BufferPool.current().nativeAllocations();
    try (Session s = first.session(graph);
        Session t = second.session(graph)) {
      long before = seconds.nativeBytes();
      Tensor mine = s.fetch(large);
      assertTrue(firsts.usedBytes() >= MEBIBYTE, () -> "used: " + firsts.usedBytes());
      assertEquals(before, seconds.nativeBytes());
      mine.close();
      // One keeps 64 MiB of released memory; two keeps nothing larger than a quarter of 1 MiB.
      assertTrue(firsts.keptBytes() >= MEBIBYTE, () -> "kept: " + firsts.keptBytes());
      t.fetch(large).close();
      assertTrue(seconds.keptBytes() < MEBIBYTE, () -> "kept: " + seconds.keptBytes());
    }
    assertEquals(others, BufferPool.current().nativeAllocations());
  }

  @Test
  void limitsAreThoseOfTheServer() {
    Output constant = Const.of(Scope.of(graph), Tensor.vector(new float[2048]));
    try (Session s = new ClusterSession(graph, first.target());
        Session t = new ClusterSession(graph, second.target())) {
      MillraceException e = assertThrows(MillraceException.class, () -> fetched(s, threads));
      assertEquals(Code.RESOURCE_EXHAUSTED, e.code(), e::getMessage);
      assertTrue(e.getMessage().contains("limit.message.bytes"), e::getMessage);
      assertEquals(0, fetched(t, constant));
    }
  }

  @Test
  void eachServerShowsItsOwnGauges() throws Exception {
    one.gauges().show("queue", () -> 1);
    two.gauges().show("queue", () -> 2);
    two.gauges().show("rows", () -> 7);
    assertEquals(Map.of("queue", 1.0), facts(first).getGaugesMap());
    assertEquals(Map.of("queue", 2.0, "rows", 7.0), facts(second).getGaugesMap());
    assertFalse(Context.ofProcess().gauges().now().containsKey("rows"));
  }

  private static TaskFacts facts(Server server) throws Exception {
    try (var threads = Executors.newCachedThreadPool();
        StatusClient client =
            new StatusClient(
                server.task(), server.target().substring("grpc://".length()), threads)) {
      return client.facts(Duration.ofSeconds(30)).get(60, TimeUnit.SECONDS);
    }
  }

  @Test
  void aClosedContextEndsItsThreadsAndKeepsNoMemory() throws InterruptedException {
    Context brief = Context.of("short", two.config());
    brief.run(() -> Parallel.run(1 << 20, 1, (from, to) -> assertSame(brief, Context.current())));
    List<Thread> helpers =
        Thread.getAllStackTraces().keySet().stream()
            .filter(t -> t.getName().startsWith("millrace-compute-short-"))
            .toList();
    assertEquals(2, helpers.size());
    BufferPool pool = brief.call(BufferPool::current);
    Tensor open = brief.call(() -> Tensor.vector(1f, 2f));
    Tensor kept = brief.call(() -> Tensor.vector(1f, 2f));
    kept.close();
    brief.close();
    for (Thread t : helpers) {
      assertTrue(t.join(Duration.ofSeconds(60)), t::getName);
    }
    assertEquals(0, pool.keptBytes());
    assertEquals(1f, open.toFloats()[0]);
    open.close();
    assertEquals(0, pool.nativeBytes());
    assertEquals(1, brief.call(Parallel::threads), "loops run on their callers");
    Context.Part<Object> late = Context.Part.of(_ -> new Object());
    assertThrows(IllegalStateException.class, () -> brief.get(late));
  }
}
