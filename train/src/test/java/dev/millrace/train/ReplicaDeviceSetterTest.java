package dev.millrace.train;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.tensor.Shape;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Initializers;
import dev.millrace.train.variable.VariableScope;
import dev.millrace.train.variable.Variables;
import java.util.List;
import org.junit.jupiter.api.Test;

class ReplicaDeviceSetterTest {
  private final Graph graph = StandardOps.newGraph();

  private VariableScope with(Scope.DeviceFunction f) {
    return VariableScope.of(Scope.of(graph).withDevice(f));
  }

  private static String deviceOf(VariableScope vs, String name, long... dims) {
    return vs.variable(name, Shape.of(dims), Initializers.zeros()).node().device();
  }

  @Test
  void variablesGoRoundTheServersAndTheRestToTheWorker() {
    VariableScope vs = with(ReplicaDeviceSetter.of(2, "/job:worker/task:3"));
    assertEquals("/job:ps/task:0", deviceOf(vs, "a", 2));
    assertEquals("/job:ps/task:1", deviceOf(vs, "b", 2));
    assertEquals("/job:ps/task:0", deviceOf(vs, "c", 2));
    assertEquals("/job:worker/task:3", Const.of(vs.scope(), 1).node().device());
    assertEquals("/job:ps/task:1", graph.node("b/read").device());
    assertEquals("/job:ps/task:1", graph.node("b/Assign").device());
    assertEquals("", graph.node("b/Initializer/zeros").device());
  }

  @Test
  void deviceAskedForByNameWins() {
    VariableScope vs = with(ReplicaDeviceSetter.of(2));
    VariableScope local = vs.withScope(vs.scope().withDevice("/job:worker/task:1"));
    assertEquals("/job:worker/task:1", deviceOf(local, "a", 2));
    assertEquals("/job:ps/task:0", deviceOf(vs, "b", 2));
  }

  @Test
  void colocatedVariableIsCountedButFollows() {
    VariableScope vs = with(ReplicaDeviceSetter.of(3));
    GraphVariable a = vs.variable("a", Shape.of(2), Initializers.zeros());
    VariableScope beside = vs.withScope(vs.scope().colocatedWith(a.node()));
    assertEquals("/job:ps/task:0", deviceOf(beside, "a/slot", 2));
    assertEquals(List.of("a"), graph.node("a/slot/Initializer/zeros").colocations());
    assertEquals("/job:ps/task:2", deviceOf(vs, "b", 2));
  }

  @Test
  void greedyFillsTheEmptiestServer() {
    VariableScope vs =
        with(ReplicaDeviceSetter.of("/job:ps", "/job:worker", PsStrategy.byBytes(2)));
    assertEquals("/job:ps/task:0", deviceOf(vs, "a", 10));
    assertEquals("/job:ps/task:1", deviceOf(vs, "b", 3));
    assertEquals("/job:ps/task:1", deviceOf(vs, "c", 3));
    assertEquals("/job:ps/task:1", deviceOf(vs, "d", 3));
    assertEquals("/job:ps/task:1", deviceOf(vs, "e", 3));
    assertEquals("/job:ps/task:0", deviceOf(vs, "f", 3));
  }

  @Test
  void byNameFollowsTheDigestOfTheName() {
    VariableScope vs =
        with(ReplicaDeviceSetter.of("/job:ps", "/job:worker", PsStrategy.byName(7, 0)));
    // md5("w_0") modulo 7.
    assertEquals("/job:ps/task:4", deviceOf(vs, "w", 2));
  }

  @Test
  void initializerGathersPerDevice() {
    VariableScope vs = with(ReplicaDeviceSetter.of(2));
    vs.variable("a", Shape.of(2), Initializers.zeros());
    vs.variable("b", Shape.of(2), Initializers.zeros());
    Node init = Variables.initializer(vs.scope());
    assertEquals("init = NoOp(^init/NoOp, ^init/NoOp_1)", init.toString());
    assertEquals("init/NoOp_1 = NoOp(^b/Assign)", graph.node("init/NoOp_1").toString());
    assertEquals("/job:ps/task:1", graph.node("init/NoOp_1").device());
  }

  @Test
  void withoutServersAllIsOnTheWorker() {
    assertEquals("/job:worker", deviceOf(with(ReplicaDeviceSetter.of(0)), "a", 2));
  }
}
