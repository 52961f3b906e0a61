package dev.millrace.runtime.exec;

import dev.millrace.graph.Node;
import java.util.ArrayList;
import java.util.List;

/**
 * What ran in a step, when and for how long, for timelines.
 *
 * <p>Threading: any thread.
 */
public final class StepTrace {
  /** One execution of a node; times in nanoseconds, the start since the epoch. */
  public record Entry(
      Node node, String device, long startNanos, long durationNanos, String thread) {}

  private final long epochOffsetNanos = System.currentTimeMillis() * 1_000_000 - System.nanoTime();

  private final List<Entry> entries = new ArrayList<>();

  synchronized void add(Node node, long startNano, long endNano) {
    entries.add(
        new Entry(
            node,
            node.device(),
            startNano + epochOffsetNanos,
            endNano - startNano,
            Thread.currentThread().getName()));
  }

  /** The executions so far, in the order in which they ended. */
  public synchronized List<Entry> entries() {
    return List.copyOf(entries);
  }
}
