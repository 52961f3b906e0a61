package dev.millrace.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Identity;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.flow.Conditional;
import dev.millrace.ops.flow.WhileLoop;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.math.Comparisons;
import dev.millrace.ops.state.Assign;
import dev.millrace.ops.state.VariableV2;
import dev.millrace.proto.ConfigProto;
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

/** A worker that reads a variable of a parameter server after an update sees that update. */
class ReadAfterUpdateTest {
  private static final ConfigProto BOUNDED =
      ConfigProto.newBuilder().setOperationTimeoutInMs(60_000).build();

  private final List<Server> servers = new ArrayList<>();
  private final Scope scope = Scope.of(StandardOps.newGraph());
  private final Scope ps = scope.withDevice("/job:ps/task:0");
  private final Scope worker = scope.withDevice("/job:worker/task:0");
  private final Output v = VariableV2.of(ps.withName("v"), DType.FLOAT, Shape.scalar());
  private final Node start = Assign.of(ps, v, Const.of(ps, 0f));

  @BeforeEach
  void startCluster() {
    List<String> addresses = FreePorts.addresses(2);
    ClusterSpec cluster =
        ClusterSpec.of(Map.of("ps", addresses.subList(0, 1), "worker", addresses.subList(1, 2)));
    servers.add(Server.start(cluster, new TaskId("ps", 0), StandardOps.registry()));
    servers.add(Server.start(cluster, new TaskId("worker", 0), StandardOps.registry()));
  }

  @AfterEach
  void stopCluster() {
    servers.forEach(Server::close);
  }

  private Session session() {
    return new ClusterSession(scope.graph(), servers.get(1).target(), BOUNDED);
  }

  private Node add(Scope at, Output amount) {
    return at.node("AssignAdd").input(v).input(amount).add();
  }

  private Output readAfter(Node before) {
    return Identity.of(worker.withControlInputs(before), v);
  }

  @Test
  void theValueReadIsTheOneAfterTheUpdate() {
    Output read = readAfter(add(ps, Const.of(ps, 1f)));
    try (Session s = session()) {
      s.run(start);
      for (int i = 1; i <= 20; i++) {
        assertEquals(i, s.fetch(read).floatValue());
      }
    }
  }

  @Test
  void readsAndUpdatesTakeTurns() {
    Output one = readAfter(add(ps, Const.of(ps, 1f)));
    Node tenTimes = Assign.of(ps, v, Arithmetic.mul(worker, one, Const.of(worker, 10f)));
    Output two = readAfter(tenTimes);
    // An update that waits for the worker alone, and not by a value.
    Output three = readAfter(add(ps.withControlInputs(two.node()), Const.of(ps, 5f)));
    try (Session s = session()) {
      s.run(start);
      List<Tensor> got = s.run(Map.of(), List.of(one, two, three), List.of());
      assertEquals(List.of(1f, 10f, 15f), got.stream().map(Tensor::floatValue).toList());
      assertEquals(165, s.fetch(three).floatValue());
    }
  }

  @Test
  void aNodeOfTheWorkerBetweenUpdateAndReadChangesNothing() {
    Node update = add(ps, Const.of(ps, 1f));
    Node between = worker.withControlInputs(update).node("NoOp").add();
    Output read = readAfter(between);
    try (Session s = session()) {
      s.run(start);
      for (int i = 1; i <= 20; i++) {
        assertEquals(i, s.fetch(read).floatValue());
      }
    }
  }

  @Test
  void withinABranch() {
    Output p = Placeholder.of(scope, DType.BOOL, Shape.scalar());
    Output by = Const.of(ps, 3f);
    Output way = ps.node("RefSwitch").input(v).input(p).add().output(1);
    Output y =
        Conditional.of(
                worker,
                p,
                List.of(by),
                (s, in) -> {
                  Node update =
                      s.withDevice("/job:ps/task:0")
                          .node("AssignAdd")
                          .input(way)
                          .input(in.getFirst())
                          .add();
                  return List.of(
                      Identity.of(
                          s.withDevice("/job:worker/task:0").withControlInputs(update), way));
                },
                (s, in) -> List.of(Arithmetic.mul(s, in.getFirst(), Const.of(s, -1f))))
            .getFirst();
    try (Session s = session()) {
      s.run(start);
      for (int i = 1; i <= 10; i++) {
        assertEquals(3 * i, s.fetch(y, Map.of(p, Tensor.scalar(true))).floatValue());
        assertEquals(-3, s.fetch(y, Map.of(p, Tensor.scalar(false))).floatValue());
      }
    }
  }

  @Test
  void inEachRoundOfALoop() {
    Output into =
        ps.node("RefEnter")
            .input(v)
            .attr("frame_name", "while/")
            .attr("is_constant", true)
            .add()
            .output();
    Output sum =
        WhileLoop.of(
                worker,
                List.of(Const.of(scope, 0), Const.of(scope, 0f)),
                List.of(),
                (s, in) -> Comparisons.less(s, in.get(0), Const.of(s, 4)),
                (s, in) -> {
                  Output next = Arithmetic.add(s, in.get(0), Const.of(s, 1));
                  Scope there = s.withDevice("/job:ps/task:0").withControlInputs(in.get(1).node());
                  Node update =
                      there.node("AssignAdd").input(into).input(Const.of(there, 1f)).add();
                  Output now =
                      Identity.of(
                          s.withDevice("/job:worker/task:0").withControlInputs(update), into);
                  return List.of(next, Arithmetic.add(s, in.get(1), now));
                })
            .get(1);
    try (Session s = session()) {
      s.run(start);
      assertEquals(1 + 2 + 3 + 4, s.fetch(sum).floatValue());
      assertEquals(5 + 6 + 7 + 8, s.fetch(sum).floatValue());
    }
  }
}
