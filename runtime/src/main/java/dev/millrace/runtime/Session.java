package dev.millrace.runtime;

import dev.millrace.base.Preconditions;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.tensor.Tensor;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;

/**
 * Runs parts of a graph. The graph may grow between runs.
 *
 * <p>Threading: any number of runs at once, from any threads. After {@link #close} runs in flight
 * end with CANCELLED and new ones are refused. A run that waits, for a queue perhaps, ends with
 * CANCELLED when its thread is interrupted.
 */
public interface Session extends AutoCloseable {
  /**
   * Runs what {@code fetches} and {@code targets} need, with {@code feeds} in place of the outputs
   * they name.
   *
   * @return the fetched values in the order asked for, owned by the caller
   */
  default List<Tensor> run(Map<Output, Tensor> feeds, List<Output> fetches, List<Node> targets) {
    return run(feeds, fetches, targets, RunOptions.DEFAULT);
  }

  /** Runs a step with options. */
  List<Tensor> run(
      Map<Output, Tensor> feeds, List<Output> fetches, List<Node> targets, RunOptions options);

  /** The value of one output. */
  default Tensor fetch(Output output) {
    return fetch(output, Map.of());
  }

  /** The value of one output under these feeds. */
  default Tensor fetch(Output output, Map<Output, Tensor> feeds) {
    return run(feeds, List.of(Preconditions.value(output, "The output to fetch")), List.of())
        .getFirst();
  }

  /** Runs nodes for their effect. */
  default void run(Node... targets) {
    run(Map.of(), targets);
  }

  /** Runs nodes for their effect, under these feeds. */
  default void run(Map<Output, Tensor> feeds, Node... targets) {
    run(feeds, List.of(), Arrays.asList(targets));
  }

  /**
   * A run prepared for being repeated: feeds and fetches are given by position, and nothing is
   * looked up again.
   */
  Callable makeCallable(List<Output> feeds, List<Output> fetches, List<Node> targets);

  /** A prepared run. */
  @FunctionalInterface
  interface Callable {
    /** Runs with these values for the feeds; they are borrowed. The results are the caller's. */
    Tensor[] run(Tensor... feeds);
  }

  /**
   * The tasks of the session's cluster that do not answer within {@code limit}, with the reason:
   * {@code worker/1} to {@code localhost:2222: no answer within 2 s}. Empty for a session in one
   * process, which has no other tasks.
   *
   * @param tasks names such as {@code worker/1}; names the cluster lacks are ignored; empty for all
   *     other tasks
   */
  default Map<String, String> silentTasks(Collection<String> tasks, Duration limit) {
    return Map.of();
  }

  @Override
  void close();
}
