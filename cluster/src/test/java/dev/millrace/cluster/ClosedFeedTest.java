package dev.millrace.cluster;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Cancellation;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.cluster.master.MasterSession;
import dev.millrace.cluster.master.SessionSettings;
import dev.millrace.cluster.peer.StepParameters;
import dev.millrace.cluster.peer.StepReport;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.graph.AttrValue;
import dev.millrace.graph.Eager;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.resource.Variable;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Identity;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.proto.ConfigProto;
import dev.millrace.runtime.LocalSession;
import dev.millrace.runtime.RunOptions;
import dev.millrace.runtime.Session;
import dev.millrace.runtime.trace.StepTrace;
import dev.millrace.storage.checkpoint.BundleWriter;
import dev.millrace.tensor.ClosedTensorException;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.wire.GraphCodec;
import dev.millrace.wire.TensorCodec;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A closed tensor is refused by every kind of session and whatever else takes tensors. */
class ClosedFeedTest {
  private static Server server;

  private final Graph graph = StandardOps.newGraph();
  private final Scope scope = Scope.of(graph);
  private final Output x = Placeholder.of(scope.withName("x"), DType.FLOAT, Shape.of(2));
  private final Output y = Identity.of(scope.withName("y"), x);

  @BeforeAll
  static void start() {
    ClusterSpec cluster = ClusterSpec.of(Map.of("worker", FreePorts.addresses(1)));
    server = Server.start(cluster, new TaskId("worker", 0), StandardOps.registry());
  }

  @AfterAll
  static void stop() {
    server.close();
  }

  /** Each kind of session with the options that make its steps take that way. */
  private Map<Session, RunOptions> sessions() {
    String far = server.target().replace("localhost", "127.0.0.1");
    Map<Session, RunOptions> all = new LinkedHashMap<>();
    all.put(new LocalSession(graph), RunOptions.DEFAULT);
    all.put(new ClusterSession(graph, server.target()), RunOptions.DEFAULT);
    all.put(new ClusterSession(graph, far), RunOptions.DEFAULT);
    // A link carries no times: a traced step of a remote session goes by gRPC.
    all.put(new ClusterSession(graph, far), RunOptions.DEFAULT.withTrace(new StepTrace()));
    return all;
  }

  private static Tensor closed() {
    Tensor t = Tensor.vector(1f, 2f);
    t.close();
    // The pool may give its memory out again.
    Tensor.vector(3f, 4f);
    return t;
  }

  @Test
  void everyKindOfSessionRefusesIt() {
    sessions()
        .forEach(
            (session, options) -> {
              try (session) {
                Session.Callable callable = session.makeCallable(List.of(x), List.of(y), List.of());
                List<Runnable> ways =
                    List.of(
                        () -> session.run(Map.of(x, closed()), List.of(y), List.of(), options),
                        () -> callable.run(closed()));
                for (Runnable way : ways) {
                  MillraceException e = assertThrows(MillraceException.class, way::run);
                  assertEquals(Code.INVALID_ARGUMENT, e.code(), e::getMessage);
                  String words = "Cannot feed 'x:0': The tensor float[2] was used after it was";
                  assertTrue(e.getMessage().startsWith(words), e::getMessage);
                  assertEquals(ClosedTensorException.class, e.getCause().getClass());
                }
                Tensor open = Tensor.vector(5f, 6f);
                Tensor result =
                    session.run(Map.of(x, open), List.of(y), List.of(), options).getFirst();
                open.close();
                assertArrayEquals(new float[] {5, 6}, result.toFloats());
                result.close();
                ClosedTensorException e =
                    assertThrows(ClosedTensorException.class, result::toFloats);
                assertTrue(e.getMessage().contains("float[2] 'y:0'"), e::getMessage);
              }
            });
  }

  /** The step waits in a queue while its feed is closed and the memory is used again. */
  @Test
  void aFeedMayBeClosedWhileTheStepRuns() throws Exception {
    Output queue =
        scope
            .node("FIFOQueueV2")
            .attr("component_types", List.of(DType.FLOAT))
            .attr("capacity", 1L)
            .add()
            .output();
    Output token = Placeholder.of(scope.withName("token"), DType.FLOAT, Shape.scalar());
    Node enqueue = scope.node("QueueEnqueueV2").input(queue).inputs(List.of(token)).add();
    Node dequeue =
        scope
            .node("QueueDequeueV2")
            .input(queue)
            .attr("component_types", List.of(DType.FLOAT))
            .add();
    Output late = Identity.of(scope.withName("late").withControlInputs(dequeue), x);
    for (Map.Entry<Session, RunOptions> e : sessions().entrySet()) {
      try (Session session = e.getKey()) {
        Tensor fed = Tensor.vector(7f, 8f);
        CompletableFuture<Tensor> step =
            CompletableFuture.supplyAsync(
                () ->
                    session.run(Map.of(x, fed), List.of(late), List.of(), e.getValue()).getFirst());
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (Refs.buffer(fed).references() == 1 && System.nanoTime() < deadline) {
          Thread.onSpinWait();
        }
        fed.close();
        Tensor reused = Tensor.vector(-1f, -1f);
        session.run(
            Map.of(token, Tensor.scalar(1f)), List.of(), List.of(enqueue), RunOptions.DEFAULT);
        assertArrayEquals(new float[] {7, 8}, step.get(60, TimeUnit.SECONDS).toFloats());
        assertArrayEquals(new float[] {-1, -1}, reused.toFloats());
      }
    }
  }

  @Test
  void whateverTakesTensorsRefusesIt(@TempDir Path folder) {
    MasterSession master =
        server
            .master()
            .create(
                g -> GraphCodec.importInto(GraphCodec.encode(graph), g, true),
                SessionSettings.of(ConfigProto.getDefaultInstance(), server.target()),
                new Cancellation());
    String partial = master.setUpPartialRun(List.of("x:0"), List.of("y:0"), List.of());
    Map<String, Consumer<Tensor>> ways = new LinkedHashMap<>();
    ways.put("constant", t -> Const.of(scope, t));
    ways.put("attribute", AttrValue::of);
    ways.put("protobuf", TensorCodec::encode);
    ways.put("constant in protobuf", TensorCodec::encodeConstant);
    ways.put("variable", t -> new Variable("v", DType.FLOAT).assign(0, t));
    ways.put("node", t -> Eager.run(y.node(), t));
    ways.put("checkpoint", t -> new BundleWriter(folder.resolve("model")).add("t", t));
    ways.put(
        "master",
        t ->
            master.run(
                master.plan(List.of("x:0"), List.of("y:0"), List.of()),
                List.of(t),
                new StepParameters(null, false, 0, 0, new StepReport(false)),
                new Cancellation()));
    ways.put(
        "partial run",
        t ->
            master.runPartial(
                partial, List.of("x:0"), List.of(t), List.of("y:0"), new Cancellation()));
    try {
      ways.forEach(
          (name, way) -> {
            RuntimeException e =
                assertThrows(RuntimeException.class, () -> way.accept(closed()), name);
            assertTrue(e.getMessage().contains("after it was closed"), () -> name + ": " + e);
          });
    } finally {
      server.master().close(master.handle());
    }
  }

  @Test
  void aGraphKeepsWhatItWasGiven() {
    Tensor value = Tensor.vector(1f, 2f);
    Output c = Const.of(scope, value);
    value.close();
    Tensor reused = Tensor.vector(3f, 4f);
    try (Session session = new LocalSession(graph)) {
      assertArrayEquals(new float[] {1, 2}, session.fetch(c).toFloats());
    }
    assertThrows(IllegalStateException.class, () -> c.node().tensorAttr("value").close());
    assertArrayEquals(new float[] {3, 4}, reused.toFloats());
  }

  /** Its memory stays the kernel's own: neither step nor kernel gives it back twice. */
  @Test
  void aKernelMayOutputAHandle() {
    Tensor one = Tensor.vector(1f, 2f);
    Graph g =
        new Graph(
            StandardOps.registry()
                .with(
                    List.of(
                        Op.define("OutputsAHandle")
                            .output("y: float")
                            .stateful()
                            .shape(c -> List.of(Shape.of(2)))
                            .kernel(c -> c.output(0, one))
                            .noGradient("a test")
                            .build())));
    Output out = Scope.of(g).node("OutputsAHandle").add().output();
    try (Session session = new LocalSession(g)) {
      for (int i = 0; i < 5; i++) {
        Tensor r = session.fetch(out);
        assertArrayEquals(new float[] {1, 2}, r.toFloats());
        r.close();
      }
      assertEquals(1, Refs.buffer(one).references());
      one.close();
      MillraceException e = assertThrows(MillraceException.class, () -> session.fetch(out));
      assertTrue(e.getMessage().contains("after it was closed"), e::getMessage);
    }
  }
}
