package dev.millrace.train.hook;

import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.Map;

/**
 * What a hook adds to a step.
 *
 * @param fetches the values it wants to see afterwards
 * @param feeds values it puts in place of outputs; borrowed until the step has run
 * @param targets nodes to run
 * @param traced whether it wants a record of what ran when
 */
public record SessionRunArgs(
    List<Output> fetches, Map<Output, Tensor> feeds, List<Node> targets, boolean traced) {
  /** Requests nothing. */
  public static final SessionRunArgs NONE = fetching(List.of());

  /** These values. */
  public static SessionRunArgs fetching(List<Output> fetches) {
    return new SessionRunArgs(fetches, Map.of(), List.of(), false);
  }

  /** These values. */
  public static SessionRunArgs fetching(Output... fetches) {
    return fetching(List.of(fetches));
  }

  /** These feeds. */
  public static SessionRunArgs feeding(Map<Output, Tensor> feeds) {
    return new SessionRunArgs(List.of(), feeds, List.of(), false);
  }

  /** The same and these nodes. */
  public SessionRunArgs running(Node... nodes) {
    return new SessionRunArgs(fetches, feeds, List.of(nodes), traced);
  }

  /** The same and a record of what ran when. */
  public SessionRunArgs withTrace() {
    return new SessionRunArgs(fetches, feeds, targets, true);
  }
}
