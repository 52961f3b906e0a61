package dev.millrace.train.session;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Scope;
import dev.millrace.ops.math.L2Loss;
import dev.millrace.ops.math.Unary;
import dev.millrace.runtime.RunOptions;
import dev.millrace.runtime.Session;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Variables;
import java.util.List;
import java.util.function.Consumer;

/**
 * Refuses a model whose trained variables are NaN. The loss of the chief's own step may still be a
 * number when it saves, while another worker has already spoilt the model. As what is NaN stays so,
 * a model that is none after it was saved was none when it was.
 */
final class NanCheck implements Consumer<Session> {
  private final VariableInspection isNan;

  /** Adds the nodes. */
  NanCheck(Graph graph) {
    List<GraphVariable> trained =
        Variables.trainable(graph).stream().filter(v -> v.dtype().isFloating()).toList();
    // A sum of squares is NaN only if one of them is: there are no infinities of both signs.
    isNan =
        new VariableInspection(
            Scope.of(graph).withSubScope("nan_check"),
            trained,
            (scope, v) -> Unary.of(scope, Unary.IS_NAN, L2Loss.of(scope, v.read())));
  }

  @Override
  public void accept(Session session) {
    List<String> found = isNan.answeredBy(true, session, RunOptions.DEFAULT);
    if (!found.isEmpty()) {
      throw MillraceException.failedPrecondition(
          "Variables have become NaN: %s. They are not saved; the last checkpoint is from before."
              + " Use a smaller learning rate or clip the gradients.",
          SessionStarter.some(found));
    }
  }
}
