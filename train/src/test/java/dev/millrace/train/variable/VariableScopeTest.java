package dev.millrace.train.variable;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;
import org.junit.jupiter.api.Test;

class VariableScopeTest {
  private final Graph graph = StandardOps.newGraph();
  private final VariableScope root = VariableScope.of(Scope.of(graph));

  @Test
  void referenceVariableHasTensorFlowsNodes() {
    root.withSubScope("a").variable("v", Shape.of(3, 2), Initializers.zeros());
    assertEquals(
        List.of(
            "a/v/Initializer/zeros = Const()",
            "a/v = VariableV2()",
            "a/v/Assign = Assign(a/v, a/v/Initializer/zeros)",
            "a/v/read = Identity(a/v)"),
        graph.nodes().stream().map(Node::toString).toList());
    graph.nodes().forEach(n -> assertEquals(List.of("a/v"), n.colocations()));
  }

  @Test
  void startingWithTakesTheNextFreeName() {
    GraphVariable v = root.startingWith("v", Tensor.scalar(1f));
    assertEquals("v/initial_value", v.initialValue().node().name());
    assertEquals("v_1", root.startingWith("v", Tensor.scalar(2f)).name());
  }

  @Test
  void sharingFindsTheVariableUnderNewOps() {
    GraphVariable v = root.withSubScope("a").variable("v", Shape.of(2), Initializers.zeros());
    VariableScope again = root.withReuse(Reuse.AUTO).withSubScope("a");
    assertSame(v, again.variable("v", Shape.of(2), Initializers.zeros()));
    assertEquals("a_1/", again.scope().prefix());
    assertEquals(1, Variables.global(graph).size());
  }

  @Test
  void takenNameIsAnErrorWithoutReuse() {
    root.variable("v", Shape.of(2), Initializers.zeros());
    MillraceException e =
        assertThrows(
            MillraceException.class, () -> root.variable("v", Shape.of(2), Initializers.zeros()));
    assertTrue(e.getMessage().contains("already exists"), e.getMessage());
  }

  @Test
  void sharingInAnotherShapeIsAnError() {
    root.variable("v", Shape.of(2), Initializers.zeros());
    assertThrows(
        MillraceException.class,
        () -> root.withReuse(Reuse.AUTO).variable("v", Shape.of(3), Initializers.zeros()));
  }

  @Test
  void initializerRunsAllAssigns() {
    GraphVariable a = root.variable("a", Shape.of(2), Initializers.zeros());
    GraphVariable b = root.withTrainable(false).variable("b", Shape.of(2), Initializers.ones());
    Node init = Variables.initializer(root.scope());
    assertEquals("init", init.name());
    assertEquals(List.of(a.initializer(), b.initializer()), init.controlInputs());
    assertEquals(List.of(a), Variables.trainable(graph));
  }
}
