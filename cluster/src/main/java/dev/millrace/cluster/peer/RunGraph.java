package dev.millrace.cluster.peer;

import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.Map;

/**
 * A master's call to run one step of a registered graph.
 *
 * @param feeds values to publish first, by full rendezvous key; borrowed for the call
 * @param fetchKeys full rendezvous keys of the values to answer with
 * @param report told what ran when and what was waited for
 */
public record RunGraph(
    String sessionHandle,
    boolean ownSession,
    String graphHandle,
    long stepId,
    Map<String, Tensor> feeds,
    List<String> fetchKeys,
    StepReport report) {
  /** The same run with nothing fed and nothing fetched. */
  public RunGraph bare() {
    return new RunGraph(
        sessionHandle, ownSession, graphHandle, stepId, Map.of(), List.of(), report);
  }
}
