package dev.millrace.graph.op;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Closest;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The ops a graph may use, by name, and which groups of them can be run as one. An immutable value
 * passed to whoever needs it.
 */
public final class OpRegistry {
  private final Map<String, Op> ops;
  private final List<Fusion> fusions;

  private OpRegistry(Map<String, Op> ops, List<Fusion> fusions) {
    this.ops = ops;
    this.fusions = fusions;
  }

  /** A registry of these ops; two of one name are an error. */
  public static OpRegistry of(Collection<Op> ops) {
    Map<String, Op> map = new TreeMap<>();
    for (Op op : ops) {
      if (map.put(op.name(), op) != null) {
        throw new IllegalArgumentException("op " + op.name() + " is registered twice");
      }
    }
    return new OpRegistry(Collections.unmodifiableMap(map), List.of());
  }

  /** These ops and {@code more}, with the same fusions; two of one name are an error. */
  public OpRegistry with(Collection<Op> more) {
    List<Op> all = new ArrayList<>(ops.values());
    all.addAll(more);
    return of(all).withFusions(fusions);
  }

  /** The same ops, of which these groups can be run as one; the first that matches is taken. */
  public OpRegistry withFusions(List<Fusion> patterns) {
    return new OpRegistry(ops, List.copyOf(patterns));
  }

  /** The groups of ops that can be run as one. */
  public List<Fusion> fusions() {
    return fusions;
  }

  /** All ops, ordered by name. */
  public Collection<Op> all() {
    return ops.values();
  }

  /** The op with this name, or null. */
  public Op find(String name) {
    return ops.get(name);
  }

  /** The op with this name, wanted by node {@code node}. */
  public Op get(String name, String node) {
    Op op = ops.get(name);
    if (op == null) {
      throw new MillraceException(
          Code.NOT_FOUND,
          "No op '"
              + name
              + "' in the registry (node '"
              + node
              + "')."
              + Closest.hint(name, ops.keySet())
              + " Ops from other jars must be on the class path of every task.");
    }
    return op;
  }
}
