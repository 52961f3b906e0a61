package dev.millrace.train.checkpoint;

import dev.millrace.graph.Graph;
import dev.millrace.train.variable.GraphVariable;
import java.util.List;

/**
 * A variable that is reset to its initial value if its shape in a checkpoint differs. The rest of
 * the checkpoint is restored, and the log tells the consequence.
 *
 * @param consequence a sentence for the log
 */
public record ResettableVariable(GraphVariable variable, String consequence) {
  private static final String COLLECTION = "millrace_resettable_variables";

  /** Registers this with the savers of the variable's graph. */
  public void register() {
    variable.graph().collection(COLLECTION).add(this);
  }

  static List<ResettableVariable> in(Graph graph) {
    return graph.collection(COLLECTION).stream().map(ResettableVariable.class::cast).toList();
  }
}
