package dev.millrace.cluster.collective;

import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;

/**
 * A broadcast in two levels: first along a tree of one device per task, then along a tree of the
 * devices within each task. With one task there is only the second. A tree is binary: rank {@code
 * r} passes on to {@code 2r + 1} and {@code 2r + 2} if the source is rank 0; else the source counts
 * as if it stood before all others too, and all numbers move up by one.
 */
final class Tree {
  private final BufferExchange exchange;

  /** By level: the group's ranks of the devices that take part. */
  private final List<List<Integer>> levels = new ArrayList<>();

  /** By level: the place of the source in it. */
  private final List<Integer> sources = new ArrayList<>();

  Tree(BufferExchange exchange, int sourceRank) {
    this.exchange = exchange;
    List<Integer> perTask = exchange.group().devicesPerTask();
    List<Integer> between = new ArrayList<>();
    int sourceTask = 0;
    int first = 0;
    for (int task = 0; task < perTask.size(); task++) {
      int n = perTask.get(task);
      boolean hasSource = sourceRank >= first && sourceRank < first + n;
      if (hasSource) {
        sourceTask = task;
      }
      between.add(hasSource ? sourceRank : first);
      List<Integer> within = new ArrayList<>();
      for (int i = 0; i < n; i++) {
        within.add(first + i);
      }
      levels.add(within);
      sources.add(hasSource ? sourceRank - first : 0);
      first += n;
    }
    if (perTask.size() > 1) {
      levels.addFirst(between);
      sources.addFirst(sourceTask);
    }
  }

  /** Receives the value, unless this is the source, and passes it on. */
  void broadcast(Tensor value) {
    for (int level = 0; level < levels.size(); level++) {
      List<Integer> ranks = levels.get(level);
      int place = ranks.indexOf(exchange.rank());
      if (place < 0) {
        continue;
      }
      int source = sources.get(level);
      if (place != source) {
        int from = parent(place, source);
        exchange
            .fetch(":" + level + ":" + from + ":" + place, ranks.get(from), value.byteSize())
            .into(value.data());
      }
      for (int to : children(place, source, ranks.size())) {
        exchange.offer(":" + level + ":" + place + ":" + to, value.data());
      }
    }
    exchange.awaitTaken();
  }

  static int parent(int place, int source) {
    if (source == 0) {
      return (place - 1) / 2;
    }
    int before = place / 2 - 1;
    return before < 0 ? source : before;
  }

  static List<Integer> children(int place, int source, int size) {
    List<Integer> to = new ArrayList<>();
    if (place == source && source != 0) {
      to.add(0);
      if (size > 2 && source != 1) {
        to.add(1);
      }
    }
    int next = source == 0 ? 2 * place + 1 : 2 * (place + 1);
    for (int child = next; child < next + 2; child++) {
      if (child < size && child != source) {
        to.add(child);
      }
    }
    return to;
  }
}
