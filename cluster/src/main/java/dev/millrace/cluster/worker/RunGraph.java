package dev.millrace.cluster.worker;

import dev.millrace.proto.DeviceStepStats;
import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * A master's call to run one step of a registered graph.
 *
 * @param feeds values to publish first, by full rendezvous key; borrowed for the call
 * @param fetchKeys full rendezvous keys of the values to answer with
 * @param trace given what ran when on each device; null if nobody asks
 */
public record RunGraph(
    String sessionHandle,
    boolean ownSession,
    String graphHandle,
    long stepId,
    Map<String, Tensor> feeds,
    List<String> fetchKeys,
    Consumer<DeviceStepStats> trace) {
  /** Whether to record what ran when. */
  public boolean isTraced() {
    return trace != null;
  }

  /** The same run with nothing fed and nothing fetched. */
  RunGraph bare() {
    return new RunGraph(sessionHandle, ownSession, graphHandle, stepId, Map.of(), List.of(), trace);
  }
}
