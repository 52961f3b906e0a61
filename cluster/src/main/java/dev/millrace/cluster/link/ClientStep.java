package dev.millrace.cluster.link;

import dev.millrace.tensor.Tensor;
import java.time.Duration;
import java.util.List;

/**
 * A client's call to run a step of its session.
 *
 * @param feeds values by the order of {@code feedNames}; borrowed for the call
 * @param timeout null for as long as it takes
 */
public record ClientStep(
    String sessionHandle,
    List<String> feedNames,
    List<Tensor> feeds,
    List<String> fetches,
    List<String> targets,
    Duration timeout) {}
