package dev.millrace.train.session;

import dev.millrace.graph.Scope;
import dev.millrace.runtime.RunOptions;
import dev.millrace.runtime.Session;
import dev.millrace.train.variable.GraphVariable;
import java.util.List;

/** Nodes that say which variables have a value, asked on the tasks that hold them. */
public final class Readiness {
  private final VariableInspection hasValue;

  /** Adds the nodes, one vector of answers per device. */
  public Readiness(Scope outer, List<GraphVariable> variables) {
    hasValue =
        new VariableInspection(
            outer.withoutControlInputs().withSubScope("report_uninitialized_variables"),
            variables,
            (scope, v) ->
                scope
                    .node(v.isResource() ? "VarIsInitializedOp" : "IsVariableInitialized")
                    .input(v.handle())
                    .add()
                    .output());
  }

  /** The names of the variables without a value. */
  public List<String> missing(Session session, RunOptions options) {
    return hasValue.answeredBy(false, session, options);
  }
}
