package dev.millrace.runtime.exec;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import dev.millrace.base.Cancellation;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.resource.Resources;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.state.Assign;
import dev.millrace.ops.state.AssignAdd;
import dev.millrace.ops.state.AssignVariable;
import dev.millrace.ops.state.VarHandle;
import dev.millrace.ops.state.VariableV2;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.function.BiConsumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A step changes nothing once its caller's lease is lost. */
class LeaseCheckTest {
  private final Resources resources = new Resources();
  private boolean leaseLost;

  @AfterEach
  void clear() {
    resources.closeAll();
  }

  private MillraceException run(BiConsumer<Scope, Output> addNodes) {
    Graph graph = StandardOps.newGraph();
    Scope scope = Scope.of(graph);
    addNodes.accept(scope, Const.of(scope, Tensor.vector(1f)));
    Cancellation cancellation =
        new Cancellation(
                () -> {
                  if (leaseLost) {
                    throw new MillraceException(Code.UNAVAILABLE, "lease lost");
                  }
                })
            .withSameLease();
    Step step =
        new Step(
            1, new LocalRendezvous(), cancellation, new Tensor[0], 0, null, null, Timers.system());
    StepRun.run(new CompiledGraph(graph), step, resources);
    return step.failure();
  }

  private static Output variable(Scope s) {
    return VariableV2.of(s.withName("v"), DType.FLOAT, Shape.of(1));
  }

  @Test
  void nothingChangesOnceTheLeaseIsLost() {
    assertNull(run((s, one) -> Assign.of(s, variable(s), one)));
    leaseLost = true;
    assertNull(run((s, one) -> s.node("Neg").input(one).add()));
    for (BiConsumer<Scope, Output> change :
        java.util.List.<BiConsumer<Scope, Output>>of(
            (s, one) -> AssignAdd.of(s, variable(s), one),
            (s, one) -> AssignVariable.of(s, VarHandle.of(s, DType.FLOAT, Shape.of(1)), one))) {
      assertEquals(Code.UNAVAILABLE, run(change).code());
    }
  }
}
