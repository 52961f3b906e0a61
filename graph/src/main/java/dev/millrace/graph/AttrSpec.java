package dev.millrace.graph;

import dev.millrace.tensor.DType;
import java.util.Set;

/**
 * An attribute of an op's signature. {@code kind} is TensorFlow's name of the type: string, int,
 * float, bool, type, shape, tensor, func, or list(...) of one. Null and empty mean no default and
 * no restriction.
 */
public record AttrSpec(
    String name,
    String kind,
    AttrValue defaultValue,
    Set<DType> allowedTypes,
    Set<String> allowedStrings,
    long minimum) {
  /** The {@link #minimum} of an attribute without a minimum. */
  public static final long NO_MINIMUM = Long.MIN_VALUE;

  /** Whether the value is a list. */
  public boolean isList() {
    return kind.startsWith("list(");
  }

  /** What is wrong with {@code value}, or null if nothing is. */
  String complaint(AttrValue value) {
    if (value instanceof AttrValue.Placeholder p) {
      return "is left open for '" + p.name() + "'; only a function's body may do that";
    }
    if (value instanceof AttrValue.Opaque) {
      return "has a value of a kind or type that is not known here; needed is " + kind;
    }
    if (isList()) {
      if (!(value instanceof AttrValue.Many many)) {
        return "must be a list, not " + value;
      }
      if (minimum != NO_MINIMUM && many.values().size() < minimum) {
        return "needs at least " + minimum + " elements, has " + many.values().size();
      }
      String element = kind.substring(5, kind.length() - 1);
      for (AttrValue v : many.values()) {
        String c = complaint(element, v);
        if (c != null) {
          return c;
        }
      }
      return null;
    }
    if (kind.equals("int")
        && minimum != NO_MINIMUM
        && value instanceof AttrValue.Int i
        && i.value() < minimum) {
      return "must be at least " + minimum + ", not " + i.value();
    }
    return complaint(kind, value);
  }

  private String complaint(String element, AttrValue value) {
    boolean ok =
        switch (element) {
          case "string" -> value instanceof AttrValue.Str;
          case "int" -> value instanceof AttrValue.Int;
          case "float" -> value instanceof AttrValue.Real;
          case "bool" -> value instanceof AttrValue.Bool;
          case "type" -> value instanceof AttrValue.Type;
          case "shape" -> value instanceof AttrValue.Dims;
          case "tensor" -> value instanceof AttrValue.Value;
          case "func" -> value instanceof AttrValue.Func;
          default -> throw new IllegalStateException("attribute kind " + element);
        };
    if (!ok) {
      return "must be of kind " + kind + ", not " + value;
    }
    if (value instanceof AttrValue.Type t
        && !allowedTypes.isEmpty()
        && !allowedTypes.contains(t.value())) {
      return "is " + t.value() + "; allowed are " + allowedTypes.stream().sorted().toList();
    }
    if (value instanceof AttrValue.Str s
        && !allowedStrings.isEmpty()
        && !allowedStrings.contains(s.text())) {
      return "is " + s + "; allowed are " + allowedStrings.stream().sorted().toList();
    }
    return null;
  }
}
