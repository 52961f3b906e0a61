package dev.millrace.train.checkpoint;

import dev.millrace.graph.Graph;
import dev.millrace.train.variable.GraphVariable;
import java.util.List;

/**
 * A variable without which a checkpoint is worth restoring: where it has another shape there, it
 * gets its initial value, and the log says what comes of that.
 *
 * @param consequence a sentence for the log
 */
public record FitsOrStartsAnew(GraphVariable variable, String consequence) {
  private static final String COLLECTION = "millrace_fits_or_starts_anew";

  /** Has savers of the variable's graph know of it. */
  public void register() {
    variable.graph().collection(COLLECTION).add(this);
  }

  static List<FitsOrStartsAnew> in(Graph graph) {
    return graph.collection(COLLECTION).stream().map(FitsOrStartsAnew.class::cast).toList();
  }
}
