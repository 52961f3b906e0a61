package dev.millrace.cluster.link;

import dev.millrace.cluster.peer.StepParameters;
import dev.millrace.tensor.Tensor;
import java.util.List;

/**
 * A client's call to run a step of its session.
 *
 * @param feeds values by the order of {@code feedNames}; borrowed for the call
 */
public record ClientStep(
    String sessionHandle,
    List<String> feedNames,
    List<Tensor> feeds,
    List<String> fetches,
    List<String> targets,
    StepParameters parameters) {}
