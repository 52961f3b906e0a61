package dev.millrace.train.optimizer;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Scope;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Initializer;
import dev.millrace.train.variable.VariableScope;
import dev.millrace.train.variable.Variables;
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

  /** The slot of this kind that belongs to {@code v}; fails if it was never made. */
  public GraphVariable get(String kind, GraphVariable v) {
    GraphVariable slot = find(kind, v);
    if (slot == null) {
      throw MillraceException.failedPrecondition(
          "Variable '%s' has no slot '%s'. Make it in createSlots; there are %s.",
          v.name(), kind, byKind.keySet());
    }
    return slot;
  }

  /** All slots, oldest first within each kind. */
  public List<GraphVariable> all() {
    List<GraphVariable> all = new ArrayList<>();
    byKind.values().forEach(m -> all.addAll(m.values()));
    return all;
  }

  /**
   * Makes the slot of this kind for {@code v} unless there is one: a variable of the same kind,
   * type, shape and place, called {@code v/name} or, if that is taken, that with a suffix. The
   * slots of the parts of a variable are parts of one slot.
   */
  GraphVariable create(
      Scope scope, GraphVariable v, String kind, String name, Initializer initial) {
    GraphVariable old = find(kind, v);
    if (old != null) {
      return old;
    }
    GraphVariable slot = beside(scope, v).below(v, free(v, name), initial);
    byKind.computeIfAbsent(kind, k -> new LinkedHashMap<>()).put(v, slot);
    return slot;
  }

  /** Where variables are made that are placed with {@code v}, are of its kind, and not trained. */
  static VariableScope beside(Scope scope, GraphVariable v) {
    return VariableScope.of(scope.colocatedWith(v.node()))
        .withResources(v.isResource())
        .withTrainable(false);
  }

  private static String free(GraphVariable v, String name) {
    String candidate = name;
    for (int i = 1; Variables.find(v.graph(), v.name() + "/" + candidate) != null; i++) {
      candidate = name + "_" + i;
    }
    return candidate;
  }
}
