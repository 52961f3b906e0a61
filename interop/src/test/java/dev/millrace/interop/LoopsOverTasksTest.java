package dev.millrace.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.millrace.cluster.ClusterSession;
import dev.millrace.cluster.Server;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.flow.Conditional;
import dev.millrace.ops.flow.WhileLoop;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.math.Comparisons;
import dev.millrace.proto.ConfigProto;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.wire.GraphCodec;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * A loop within a branch within a loop, spread over two tasks, one Millrace's and one TensorFlow's:
 * both count its rounds alike, whoever is the master.
 */
class LoopsOverTasksTest {
  private static Scope on(Scope s, int task) {
    return s.withDevice("/job:local/task:" + task);
  }

  private static Output plus(Scope s, Output a, float b) {
    return Arithmetic.add(s, a, Const.of(s, b));
  }

  /** {@code for (i = 0; i < rounds; i++) v = body(v)}, counted on a task. */
  private static Output loop(
      Scope scope, int task, Output start, Output rounds, WhileLoop.Body body) {
    return WhileLoop.of(
            on(scope, task),
            List.of(Const.of(scope, 0), start),
            List.of(rounds),
            (s, v) -> Comparisons.less(s, v.get(0), v.get(2)),
            (s, v) ->
                List.of(
                    Arithmetic.add(s, v.get(0), Const.of(s, 1)),
                    body.of(s, v.subList(1, 3)).getFirst()))
        .get(1);
  }

  /** {@code for (i < n) x = x < 10 ? (for (j < n) x += 3) : x - 8}. */
  private static Output graph(Graph graph, int here) {
    int there = 1 - here;
    Scope scope = Scope.of(graph);
    Output x = Placeholder.of(scope.withName("x"), DType.FLOAT, Shape.scalar());
    Output n = Placeholder.of(scope.withName("n"), DType.INT32, Shape.scalar());
    return loop(
        scope,
        here,
        x,
        n,
        (s, v) ->
            Conditional.of(
                on(s, there),
                Comparisons.less(on(s, there), v.get(0), Const.of(on(s, there), 10f)),
                v,
                (t, in) ->
                    List.of(
                        loop(
                            t,
                            here,
                            in.get(0),
                            in.get(1),
                            (u, w) -> List.of(plus(on(u, there), w.get(0), 3)))),
                (t, in) -> List.of(plus(on(t, here), in.get(0), -8))));
  }

  private static float run(String target, boolean tensorFlow, int here, float x, int n) {
    Graph graph = StandardOps.newGraph();
    Output y = graph(graph, here);
    if (tensorFlow) {
      try (RealTensorFlow session =
          RealTensorFlow.of(GraphCodec.encode(graph), TensorFlowSessionOptions.at(target))) {
        Map<String, Tensor> feeds = Map.of("x:0", Tensor.scalar(x), "n:0", Tensor.scalar(n));
        return session.run(feeds, List.of(y.name()), List.of()).getFirst().floatValue();
      }
    }
    ConfigProto bounded = ConfigProto.newBuilder().setOperationTimeoutInMs(60_000).build();
    try (Session session = new ClusterSession(graph, target, bounded)) {
      return session
          .fetch(
              y,
              Map.of(graph.output("x:0"), Tensor.scalar(x), graph.output("n:0"), Tensor.scalar(n)))
          .floatValue();
    }
  }

  @ParameterizedTest(name = "TensorFlow is the client: {0}, the master: {1}")
  @CsvSource({"false, false", "true, false", "false, true", "true, true"})
  @SuppressWarnings("try") // The servers are only there to be there.
  void bothCountTheSameRounds(boolean client, boolean master) {
    try (LoopbackCluster cluster = LoopbackCluster.of("local", 2);
        Server millrace =
            Server.start(
                ClusterSpec.decode(cluster.definition()),
                new TaskId("local", 0),
                StandardOps.registry());
        TensorFlowServer tensorFlow = TensorFlowServer.start(cluster, "local", 1)) {
      String target = cluster.target("local", master ? 1 : 0);
      for (int here = 0; here < 2; here++) {
        // 1 -> 10 -> 2 -> 11, and 20 -> 12 -> 4.
        assertEquals(11, run(target, client, here, 1, 3));
        assertEquals(4, run(target, client, here, 20, 2));
      }
    }
  }
}
