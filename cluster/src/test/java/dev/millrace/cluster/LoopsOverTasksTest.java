package dev.millrace.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.flow.Conditional;
import dev.millrace.ops.flow.WhileLoop;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.math.Comparisons;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Loops and branches whose nodes sit on several tasks. */
class LoopsOverTasksTest {
  private final List<Server> servers = new ArrayList<>();
  private final Scope scope = Scope.of(StandardOps.newGraph());
  private final Output n = Placeholder.of(scope, DType.INT32, Shape.scalar());
  private final Output x = Placeholder.of(scope, DType.FLOAT, Shape.scalar());

  @BeforeEach
  void startCluster() {
    ClusterSpec cluster = ClusterSpec.of(Map.of("local", FreePorts.addresses(3)));
    for (int i = 0; i < 3; i++) {
      servers.add(Server.start(cluster, new TaskId("local", i), StandardOps.registry()));
    }
  }

  @AfterEach
  void stopCluster() {
    servers.forEach(Server::close);
  }

  private static Scope on(Scope s, int task) {
    return s.withDevice("/job:local/task:" + task);
  }

  private static Output plus(Scope s, Output a, float b) {
    return Arithmetic.add(s, a, Const.of(s, b));
  }

  /** {@code for (i = 0; i < rounds; i++) v = body(v)}, counted on task 0. */
  private Output loop(Output start, Output rounds, Scope scope, WhileLoop.Body body) {
    return WhileLoop.of(
            on(scope, 0),
            List.of(Const.of(scope, 0), start),
            List.of(rounds),
            (s, v) -> Comparisons.less(s, v.get(0), v.get(2)),
            (s, v) ->
                List.of(
                    Arithmetic.add(s, v.get(0), Const.of(s, 1)),
                    body.of(s, v.subList(1, 3)).getFirst()))
        .get(1);
  }

  private float run(Output y, int master, int rounds, float start) {
    try (Session s = new ClusterSession(scope.graph(), servers.get(master).target())) {
      Map<Output, Tensor> feeds = Map.of(n, Tensor.scalar(rounds), x, Tensor.scalar(start));
      float first = s.fetch(y, feeds).floatValue();
      assertEquals(first, s.fetch(y, feeds).floatValue(), "the same step once more");
      return first;
    }
  }

  @Test
  void aBodyGoesOverTasks() {
    Output y =
        loop(
            x,
            n,
            scope,
            (s, v) ->
                List.of(
                    plus(
                        on(s, 2),
                        Arithmetic.mul(on(s, 1), v.getFirst(), Const.of(on(s, 1), 2f)),
                        1)));
    for (int master = 0; master < 3; master++) {
      assertEquals(5 * 1024 + 1023, run(y, master, 10, 5));
    }
    assertEquals(5, run(y, 1, 0, 5));
  }

  @Test
  void loopsAndBranchesNestOverTasks() {
    Output y =
        loop(
            x,
            n,
            scope,
            (s, v) ->
                Conditional.of(
                    on(s, 2),
                    Comparisons.less(on(s, 2), v.get(0), Const.of(on(s, 2), 10f)),
                    v,
                    (t, in) ->
                        List.of(
                            loop(
                                in.get(0),
                                in.get(1),
                                t,
                                (u, w) -> List.of(plus(on(u, 1), w.get(0), 3)))),
                    (t, in) -> List.of(plus(on(t, 1), in.get(0), -8))));
    // 1 -> 10 (three rounds of the inner loop) -> 2 -> 11.
    assertEquals(11, run(y, 0, 3, 1));
    // 20 -> 12 -> 4.
    assertEquals(4, run(y, 2, 2, 20));
  }

  @Test
  void theBranchNotTakenIsOnAnotherTask() {
    Output y =
        Conditional.of(
                on(scope, 0),
                Comparisons.less(scope, x, Const.of(scope, 10f)),
                List.of(x),
                (s, in) -> List.of(plus(on(s, 1), in.getFirst(), 3)),
                (s, in) -> List.of(plus(on(s, 2), in.getFirst(), -3)))
            .getFirst();
    for (int master = 0; master < 3; master++) {
      assertEquals(8, run(y, master, 0, 5));
      assertEquals(17, run(y, master, 0, 20));
    }
  }
}
