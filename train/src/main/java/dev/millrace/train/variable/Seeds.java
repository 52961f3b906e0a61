package dev.millrace.train.variable;

import dev.millrace.graph.Graph;

/**
 * The pair of seeds of a random op, from the graph's seed and the op's own, as TensorFlow has it.
 */
public final class Seeds {
  private static final long DEFAULT_GRAPH_SEED = 87654321;

  private Seeds() {}

  /** Both seeds of an op about to be added; zeros, meaning random, where none was ever given. */
  public static long[] of(Graph graph, Long seed) {
    long[] pair;
    if (graph.hasSeed()) {
      pair = new long[] {graph.seed(), seed != null ? seed : graph.size()};
    } else if (seed != null) {
      pair = new long[] {DEFAULT_GRAPH_SEED, seed};
    } else {
      return new long[] {0, 0};
    }
    return pair[0] == 0 && pair[1] == 0 ? new long[] {0, Integer.MAX_VALUE} : pair;
  }
}
