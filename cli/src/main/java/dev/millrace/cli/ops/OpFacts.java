package dev.millrace.cli.ops;

import dev.millrace.graph.AttrSpec;
import dev.millrace.graph.Gradient;
import dev.millrace.graph.Op;
import dev.millrace.ops.StandardOps;
import dev.millrace.tensor.DType;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * What the table of ops says of one op.
 *
 * @param name TensorFlow's name
 * @param types the element types of its signature, in groups
 * @param gradient yes, none (nothing flows through it) or undefined (asking for it is an error)
 */
record OpFacts(String name, String types, String gradient) {
  /** Names of groups of types, the larger ones first. */
  private static final Map<String, Set<DType>> GROUPS = groups();

  private static Map<String, Set<DType>> groups() {
    Map<String, Set<DType>> groups = new LinkedHashMap<>();
    groups.put("numbers", DType.NUMERIC);
    groups.put("real numbers", DType.REAL);
    groups.put("integers", DType.INTEGRAL);
    groups.put("floating", DType.FLOATING);
    groups.put("complex", Set.of(DType.COMPLEX64, DType.COMPLEX128));
    return groups;
  }

  /** All ops of Millrace, by name. */
  static Map<String, OpFacts> all() {
    Map<String, OpFacts> facts = new TreeMap<>();
    for (Op op : StandardOps.ALL) {
      facts.put(op.name(), new OpFacts(op.name(), types(op), gradient(op)));
    }
    for (String name : CallOps.NAMES) {
      facts.put(name, new OpFacts(name, "any", "yes"));
    }
    return facts;
  }

  private static String gradient(Op op) {
    if (op.gradient() == null) {
      return "none";
    }
    return op.gradient() instanceof Gradient.Undefined ? "undefined" : "yes";
  }

  /** The types of the first attribute that is one; those of the arguments where there is none. */
  private static String types(Op op) {
    for (AttrSpec attr : op.attrs().values()) {
      boolean isElement =
          op.inputs().stream().anyMatch(a -> attr.name().equals(a.typeAttr()))
              || op.outputs().stream().anyMatch(a -> attr.name().equals(a.typeAttr()));
      if (attr.kind().equals("type") && isElement) {
        return attr.allowedTypes().isEmpty() ? "any" : grouped(attr.allowedTypes());
      }
      if (attr.kind().equals("list(type)")) {
        return "any";
      }
    }
    List<String> fixed = new ArrayList<>();
    op.inputs().stream()
        .filter(a -> a.type() != null)
        .map(a -> a.type().label())
        .filter(t -> !fixed.contains(t))
        .forEach(fixed::add);
    return fixed.isEmpty() ? "-" : String.join(" ", fixed);
  }

  private static String grouped(Set<DType> types) {
    List<String> words = new ArrayList<>();
    List<DType> left = new ArrayList<>(types);
    GROUPS.forEach(
        (name, group) -> {
          if (left.containsAll(group)) {
            words.add(name);
            left.removeAll(group);
          }
        });
    // Quantised types are part of signatures alone.
    left.removeIf(t -> t.label().startsWith("q"));
    left.stream().sorted().map(DType::label).forEach(words::add);
    return String.join(", ", words);
  }
}
