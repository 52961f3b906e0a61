package dev.millrace.train;

import dev.millrace.graph.Graph;
import dev.millrace.graph.Scope;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.graph.GraphKeys;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Initializers;
import dev.millrace.train.variable.VariableScope;

/** The variable that counts training steps over all workers. */
public final class GlobalStep {
  private GlobalStep() {}

  /** The graph's step counter, or null if it has none. */
  public static GraphVariable find(Graph graph) {
    return graph.collection(GraphKeys.GLOBAL_STEP).stream()
        .map(GraphVariable.class::cast)
        .findFirst()
        .orElse(null);
  }

  /** What {@code step} is at now. */
  public static long now(Session session, GraphVariable step) {
    try (Tensor t = session.fetch(step.read())) {
      return t.longValue();
    }
  }

  /** The graph's step counter, made now if it has none. */
  public static GraphVariable of(Scope scope) {
    return of(VariableScope.of(scope));
  }

  /** The global step of the graph; if there is none, {@code variables} creates it. */
  public static GraphVariable of(VariableScope variables) {
    GraphVariable step = find(variables.graph());
    if (step == null) {
      step =
          variables
              .outermost()
              .withTrainable(false)
              .variable("global_step", DType.INT64, Shape.scalar(), Initializers.zeros());
      variables.graph().collection(GraphKeys.GLOBAL_STEP).add(step);
    }
    return step;
  }
}
