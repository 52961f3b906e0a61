package dev.millrace.graph.op;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Closest;
import java.util.Collection;
import java.util.Collections;
import java.util.Map;
import java.util.TreeMap;

/** The ops a graph may use, by name. An immutable value passed to whoever needs it. */
public final class OpRegistry {
  private final Map<String, Op> ops;

  private OpRegistry(Map<String, Op> ops) {
    this.ops = ops;
  }

  /** A registry of these ops; two of one name are an error. */
  public static OpRegistry of(Collection<Op> ops) {
    Map<String, Op> map = new TreeMap<>();
    for (Op op : ops) {
      if (map.put(op.name(), op) != null) {
        throw new IllegalArgumentException("op " + op.name() + " is registered twice");
      }
    }
    return new OpRegistry(Collections.unmodifiableMap(map));
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
