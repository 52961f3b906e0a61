package dev.millrace.graph;

import dev.millrace.base.Closest;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * The ops that a graph may use, by name, and their fusions. Immutable, except that families load on
 * demand.
 *
 * <p>Threading: any thread.
 */
public final class OpRegistry {
  private final Map<String, Op> ops;
  private final Map<String, OpFamily> families;
  private final List<Fusion> fusions;

  private OpRegistry(Map<String, Op> ops, Map<String, OpFamily> families, List<Fusion> fusions) {
    this.ops = ops;
    this.families = families;
    this.fusions = fusions;
  }

  /** A registry of these ops. Fails if two have the same name. */
  public static OpRegistry of(Collection<Op> ops) {
    Map<String, Op> map = new TreeMap<>();
    for (Op op : ops) {
      if (map.put(op.name(), op) != null) {
        throw twice(op.name());
      }
    }
    return new OpRegistry(Collections.unmodifiableMap(map), Map.of(), List.of());
  }

  private static IllegalArgumentException twice(String name) {
    return new IllegalArgumentException("op " + name + " is registered twice");
  }

  /** These ops and {@code more}, with the same fusions; two of one name are an error. */
  public OpRegistry with(Collection<Op> more) {
    List<Op> all = new ArrayList<>(ops.values());
    all.addAll(more);
    return of(all).withFamilies(List.copyOf(Set.copyOf(families.values()))).withFusions(fusions);
  }

  /** These ops and those of {@code more} families, which load on demand. */
  public OpRegistry withFamilies(List<OpFamily> more) {
    Map<String, OpFamily> all = new TreeMap<>(families);
    for (OpFamily family : more) {
      for (String name : family.names()) {
        if (ops.containsKey(name) || all.put(name, family) != null) {
          throw twice(name);
        }
      }
    }
    return new OpRegistry(ops, Collections.unmodifiableMap(all), fusions);
  }

  /** Whether there is an op of this name; loads no family. */
  public boolean has(String name) {
    return ops.containsKey(name) || families.containsKey(name);
  }

  /** A registry of the same ops with these fusions; the first matching fusion is used. */
  public OpRegistry withFusions(List<Fusion> patterns) {
    return new OpRegistry(ops, families, List.copyOf(patterns));
  }

  /** The fusions. */
  public List<Fusion> fusions() {
    return fusions;
  }

  /** All ops, ordered by name; loads every family. */
  public Collection<Op> all() {
    Map<String, Op> all = new TreeMap<>(ops);
    for (OpFamily family : Set.copyOf(families.values())) {
      family.ops().get().forEach(op -> all.put(op.name(), op));
    }
    return Collections.unmodifiableCollection(all.values());
  }

  /** The op with this name, or null. */
  public Op find(String name) {
    Op op = ops.get(name);
    OpFamily family = op == null ? families.get(name) : null;
    if (family != null) {
      for (Op member : family.ops().get()) {
        if (member.name().equals(name)) {
          return member;
        }
      }
    }
    return op;
  }

  /** The op with this name, wanted by node {@code node}. */
  public Op get(String name, String node) {
    Op op = find(name);
    if (op == null) {
      Set<String> names = new TreeSet<>(ops.keySet());
      names.addAll(families.keySet());
      throw new MillraceException(
          Code.NOT_FOUND,
          "No op '"
              + name
              + "' in the registry (node '"
              + node
              + "')."
              + Closest.hint(name, names)
              + " Ops of other jars (OpLibrary) must be on the class path of every task"
              + " (millrace --jars).");
    }
    return op;
  }
}
