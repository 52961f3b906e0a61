package dev.millrace.runtime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.gradient.Gradients;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.flow.Conditional;
import dev.millrace.ops.flow.Merge;
import dev.millrace.ops.flow.Switch;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.state.Assign;
import dev.millrace.ops.state.VariableV2;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ConditionalTest {
  private final Scope scope = Scope.of(StandardOps.newGraph());
  private final Output predicate = Placeholder.of(scope, DType.BOOL, Shape.scalar());
  private final Output x = Placeholder.of(scope, DType.FLOAT, Shape.scalar());

  private Map<Output, Tensor> feeds(boolean p, float v) {
    return Map.of(predicate, Tensor.scalar(p), x, Tensor.scalar(v));
  }

  /** {@code p ? 3 x : 2 x x + 1}. */
  private Output conditional() {
    return Conditional.of(
            scope,
            predicate,
            List.of(x),
            (s, in) -> List.of(Arithmetic.mul(s, in.getFirst(), Const.of(s, 3f))),
            (s, in) ->
                List.of(
                    Arithmetic.add(
                        s,
                        Arithmetic.scaled(s, Arithmetic.mul(s, in.getFirst(), in.getFirst()), 2),
                        Const.of(s, 1f))))
        .getFirst();
  }

  @Test
  void theChosenBranchGivesTheValue() {
    Output y = conditional();
    try (Session session = new LocalSession(scope.graph())) {
      assertEquals(15, session.fetch(y, feeds(true, 5)).floatValue());
      assertEquals(51, session.fetch(y, feeds(false, 5)).floatValue());
    }
  }

  @Test
  void gradientGoesThroughTheChosenBranch() {
    Output y = conditional();
    Output dx = Gradients.dense(scope, Gradients.of(scope, List.of(y), List.of(x)).getFirst());
    try (Session session = new LocalSession(scope.graph())) {
      assertEquals(3, session.fetch(dx, feeds(true, 5)).floatValue());
      assertEquals(20, session.fetch(dx, feeds(false, 5)).floatValue());
    }
  }

  @Test
  void theOtherBranchHasNoEffect() {
    Output v = VariableV2.of(scope.withName("v"), DType.FLOAT, Shape.scalar());
    Node start = Assign.of(scope, v, Const.of(scope, 1f));
    Output y =
        Conditional.of(
                scope,
                predicate,
                List.of(x),
                (s, in) -> List.of(Assign.of(s, v, in.getFirst()).output()),
                (s, in) -> List.of(in.getFirst()))
            .getFirst();
    try (Session session = new LocalSession(scope.graph())) {
      session.run(start);
      assertEquals(7, session.fetch(y, feeds(false, 7)).floatValue());
      assertEquals(1, session.fetch(v).floatValue());
      assertEquals(7, session.fetch(y, feeds(true, 7)).floatValue());
      assertEquals(7, session.fetch(v).floatValue());
    }
  }

  @Test
  void mergeSaysWhichInputCame() {
    Node way = Switch.of(scope, x, predicate);
    Node merge = Merge.of(scope, List.of(way.output(1), way.output(0)));
    assertTrue(merge.output(0).shape().isScalar());
    try (Session session = new LocalSession(scope.graph())) {
      assertEquals(0, session.fetch(merge.output(1), feeds(true, 5)).intValue());
      assertEquals(1, session.fetch(merge.output(1), feeds(false, 5)).intValue());
    }
  }
}
