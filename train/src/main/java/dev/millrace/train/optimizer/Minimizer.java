package dev.millrace.train.optimizer;

import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Variables;
import java.util.List;

/**
 * Minimises a loss: an {@link Optimizer}, or something around one that changes the gradients or
 * makes several workers agree on them. Wrappers take a Minimizer and use only these methods, so
 * they can be nested and written outside this project.
 */
public interface Minimizer {
  /** Adds the gradients of {@code loss} by each of {@code variables}. */
  List<GradientAndVariable> computeGradients(
      Scope scope, Output loss, List<GraphVariable> variables);

  /** Adds the updates of the variables, and of {@code globalStep} unless null after them. */
  Node applyGradients(Scope scope, List<GradientAndVariable> pairs, GraphVariable globalStep);

  /**
   * Adds all that one step of training needs and returns the node that makes it; without {@code
   * globalStep} (null) none is counted.
   */
  default Node minimize(Scope scope, Output loss, GraphVariable globalStep) {
    return applyGradients(
        scope, computeGradients(scope, loss, Variables.trainable(scope.graph())), globalStep);
  }
}
