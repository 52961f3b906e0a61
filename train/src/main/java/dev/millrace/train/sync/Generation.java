package dev.millrace.train.sync;

import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Pack;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.math.Cast;
import dev.millrace.runtime.RunOptions;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.variable.GraphVariable;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * Which preparation of the model the workers take part in: a variable beside the global step with a
 * number that no other preparation has and the step it began at. The chief withdraws it before it
 * touches the model and declares another once all is ready. Who finds variables with values but no
 * generation has a chief of TensorFlow.
 */
final class Generation {
  /** The number while the chief prepares the model. */
  static final long NONE = 0;

  private static final String NAME = "millrace_sync_generation";
  private static final RunOptions LIMIT = RunOptions.DEFAULT.withTimeout(Duration.ofSeconds(30));

  private final Output handle;
  private final Output isThere;
  private final Output value;
  private final Output number;
  private final Node withdraw;
  private final Node declare;

  /** Adds the nodes, on the device of {@code scope}, which is that of {@code globalStep}. */
  Generation(Scope scope, GraphVariable globalStep) {
    handle =
        scope
            .withName(NAME)
            .node("VarHandleOp")
            .attr("shared_name", NAME)
            .attr("dtype", DType.INT64)
            .attr("shape", Shape.of(2))
            .add()
            .output();
    isThere = scope.node("VarIsInitializedOp").input(handle).add().output();
    value = read(scope);
    withdraw = assign(scope, Const.of(scope, Tensor.vector(NONE, Long.MAX_VALUE)));
    number = Placeholder.of(scope.withName("number"), DType.INT64, Shape.scalar());
    Output step = globalStep.read();
    Output base = step.dtype() == DType.INT64 ? step : Cast.of(scope, step, DType.INT64);
    declare = assign(scope, Pack.of(scope, List.of(number, base)));
  }

  private Node assign(Scope scope, Output to) {
    return scope.node("AssignVariableOp").input(handle).input(to).add();
  }

  /** Adds a node that reads number and first step when it is run. */
  Output read(Scope scope) {
    Output read =
        scope.node("ReadVariableOp").input(handle).attr("dtype", DType.INT64).add().output();
    read.refineShape(Shape.of(2));
    return read;
  }

  /** Takes back what was declared: from now on all who look wait. */
  void withdraw(Session session) {
    session.run(Map.of(), List.of(), List.of(withdraw), LIMIT);
  }

  /** Declares generation {@code n}, which begins at the global step there is. */
  void declare(Session session, long n) {
    try (Tensor t = Tensor.scalar(n)) {
      session.run(Map.of(number, t), List.of(), List.of(declare), LIMIT);
    }
  }

  /** Whether the chief declares generations. */
  boolean isThere(Session session) {
    try (Tensor t = session.run(Map.of(), List.of(isThere), List.of(), LIMIT).getFirst()) {
      return t.booleanValue();
    }
  }

  /** The number that is declared, {@link #NONE} while the model is prepared. */
  long declared(Session session) {
    try (Tensor t = session.run(Map.of(), List.of(value), List.of(), LIMIT).getFirst()) {
      return t.longAt(0);
    }
  }
}
