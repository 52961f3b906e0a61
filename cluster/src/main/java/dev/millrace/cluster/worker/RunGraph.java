package dev.millrace.cluster.worker;

import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.Map;

/**
 * A master's call to run one step of a registered graph.
 *
 * @param feeds values to publish first, by full rendezvous key; borrowed for the call
 * @param fetchKeys full rendezvous keys of the values to answer with
 * @param traced whether to record what ran when
 */
public record RunGraph(
    String sessionHandle,
    boolean ownSession,
    String graphHandle,
    long stepId,
    Map<String, Tensor> feeds,
    List<String> fetchKeys,
    boolean traced) {}
