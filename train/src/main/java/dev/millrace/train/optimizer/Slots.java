package dev.millrace.train.optimizer;

import dev.millrace.train.variable.GraphVariable;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The variables an optimizer keeps beside those it trains, such as moving averages of their
 * gradients: found by the kind of slot and the variable it belongs to.
 */
public final class Slots {
  private final Map<String, Map<GraphVariable, GraphVariable>> byKind = new LinkedHashMap<>();

  Slots() {}

  /** The slot of this kind that belongs to {@code v}, or null. */
  public GraphVariable find(String kind, GraphVariable v) {
    return byKind.getOrDefault(kind, Map.of()).get(v);
  }

  /** All slots, oldest first within each kind. */
  public List<GraphVariable> all() {
    List<GraphVariable> all = new ArrayList<>();
    byKind.values().forEach(m -> all.addAll(m.values()));
    return all;
  }

  void put(String kind, GraphVariable v, GraphVariable slot) {
    byKind.computeIfAbsent(kind, k -> new LinkedHashMap<>()).put(v, slot);
  }
}
