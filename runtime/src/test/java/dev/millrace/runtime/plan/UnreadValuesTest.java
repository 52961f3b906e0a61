package dev.millrace.runtime.plan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Identity;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.flow.Switch;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.state.Assign;
import dev.millrace.ops.state.VariableV2;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class UnreadValuesTest {
  private final Graph graph = StandardOps.newGraph();
  private final Scope scope = Scope.of(graph);
  private final Output x = Placeholder.of(scope.withName("x"), DType.FLOAT, Shape.of(2));
  private final Output v = VariableV2.of(scope.withName("v"), DType.FLOAT, Shape.of(2));

  private Node assignAfter(Node... before) {
    return Assign.of(scope.withName("assign").withControlInputs(before), v, x);
  }

  private static List<String> controls(Graph g, String node) {
    return g.node(node).controlInputs().stream().map(Node::name).toList();
  }

  @Test
  void whatOnlyAControlEdgeKeptAliveIsDroppedAndItsInputsWaitedFor() {
    Output y = Arithmetic.mul(scope.withName("y"), x, x);
    Output z = Arithmetic.mul(scope.withName("z"), y, y);
    assignAfter(z.node());
    Graph out = UnreadValues.drop(graph, Set.of());
    assertNull(out.find("z"));
    assertNull(out.find("y"));
    assertEquals(List.of("x"), controls(out, "assign"));
  }

  @Test
  void whatIsReadStays() {
    Output y = Arithmetic.mul(scope.withName("y"), x, x);
    Assign.of(scope.withName("assign"), v, y);
    Graph out = UnreadValues.drop(graph, Set.of());
    assertEquals("y", out.node("assign").input(1).node().name());
  }

  @Test
  void targetsStay() {
    Arithmetic.mul(scope.withName("y"), x, x);
    assertNotNull(UnreadValues.drop(graph, Set.of("y")).find("y"));
    assertNull(UnreadValues.drop(graph, Set.of()).find("y"));
  }

  @Test
  void anIdentityThatWaitedHandsItsWaitingToItsReader() {
    Node first = Assign.of(scope.withName("first"), v, x);
    Output same = Identity.of(scope.withName("same").withControlInputs(first), x);
    Assign.of(scope.withName("assign"), v, same);
    Graph out = UnreadValues.drop(graph, Set.of());
    assertNull(out.find("same"));
    assertEquals("x", out.node("assign").input(1).node().name());
    assertEquals(List.of("first"), controls(out, "assign"));
  }

  @Test
  void theNodeThatMakesABranchDeadStays() {
    Output p = Placeholder.of(scope.withName("p"), DType.BOOL, Shape.scalar());
    Node way = Switch.of(scope, x, p);
    Output pivot = Identity.of(scope.withName("pivot"), way.output(1));
    assignAfter(pivot.node());
    Graph out = UnreadValues.drop(graph, Set.of());
    assertEquals(List.of("pivot"), controls(out, "assign"));
  }

  @Test
  void manyWaitersOfManyWaitForOneNode() {
    Output[] ys = new Output[4];
    for (int i = 0; i < 4; i++) {
      Node effect = Assign.of(scope.withName("effect" + i), v, x);
      ys[i] = effect.output();
    }
    Scope after = scope.withControlInputs(List.of(ys).stream().map(Output::node).toList());
    Node all = after.withName("all").node("NoOp").add();
    for (int i = 0; i < 4; i++) {
      Assign.of(scope.withName("last" + i).withControlInputs(all), v, x);
    }
    Graph out = UnreadValues.drop(graph, Set.of());
    assertEquals(4, controls(out, "all").size());
    assertEquals(List.of("all"), controls(out, "last3"));
  }
}
