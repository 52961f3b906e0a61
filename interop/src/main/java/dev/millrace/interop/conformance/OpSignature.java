package dev.millrace.interop.conformance;

import dev.millrace.graph.AttrSpec;
import dev.millrace.graph.AttrValue;
import dev.millrace.graph.Op;
import dev.millrace.interop.GraphWriter;
import dev.millrace.proto.DataType;
import dev.millrace.proto.OpDef;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * An op's signature as lines of text, the same for the same signature whoever defines it, so that
 * what Millrace says of an op can be held against what TensorFlow says. Quantised types, and those
 * Millrace does not know, are left out.
 */
final class OpSignature {
  private final TreeMap<String, String> lines = new TreeMap<>();

  /** By attribute, the values it may have; empty for any. An op may allow more than TensorFlow. */
  private final TreeMap<String, Set<String>> allowed = new TreeMap<>();

  private OpSignature() {}

  /** In what Millrace's definition of an op differs from TensorFlow's. */
  static List<String> differences(Op op) {
    OpSignature ours = of(op);
    OpSignature theirs = of(GraphWriter.definition(op.name()));
    Set<String> keys = new TreeSet<>(ours.lines.keySet());
    keys.addAll(theirs.lines.keySet());
    List<String> differences = new ArrayList<>();
    for (String key : keys) {
      String a = ours.lines.getOrDefault(key, "missing");
      String e = theirs.lines.getOrDefault(key, "missing");
      if (!a.equals(e)) {
        differences.add(op.name() + " " + key + ": " + a + ", TensorFlow: " + e);
      }
    }
    theirs.allowed.forEach(
        (attr, values) -> {
          Set<String> mine = ours.allowed.getOrDefault(attr, Set.of());
          if (!mine.isEmpty() && !(mine.containsAll(values) && !values.isEmpty())) {
            differences.add(op.name() + " " + attr + " allows " + mine + ", TensorFlow: " + values);
          }
        });
    return differences;
  }

  private static OpSignature of(Op op) {
    OpSignature s = new OpSignature();
    s.arguments("input", op.inputs().stream().map(OpSignature::text).toList());
    s.arguments("output", op.outputs().stream().map(OpSignature::text).toList());
    for (AttrSpec a : op.attrs().values()) {
      String minimum = a.minimum() == AttrSpec.NO_MINIMUM ? "" : " >= " + a.minimum();
      Set<String> allowed = new TreeSet<>(a.allowedStrings());
      a.allowedTypes().forEach(t -> allowed.add(t.label()));
      String value = a.defaultValue() == null ? "" : " = " + text(a.defaultValue());
      s.attribute(a.name(), a.kind() + minimum + value, allowed);
    }
    s.flags(op.isStateful(), op.isCommutative(), op.allowsUninitialized());
    return s;
  }

  private static OpSignature of(OpDef op) {
    OpSignature s = new OpSignature();
    s.arguments("input", op.getInputArgList().stream().map(OpSignature::text).toList());
    s.arguments("output", op.getOutputArgList().stream().map(OpSignature::text).toList());
    for (OpDef.AttrDef a : op.getAttrList()) {
      String minimum = a.getHasMinimum() ? " >= " + a.getMinimum() : "";
      Set<String> allowed = new TreeSet<>();
      a.getAllowedValues().getList().getSList().forEach(v -> allowed.add(v.toStringUtf8()));
      for (DataType type : a.getAllowedValues().getList().getTypeList()) {
        if (isKnown(type)) {
          allowed.add(DType.of(type.getNumber()).label());
        }
      }
      String value = a.hasDefaultValue() ? " = " + text(a.getDefaultValue()) : "";
      s.attribute(a.getName(), a.getType() + minimum + value, allowed);
    }
    s.flags(op.getIsStateful(), op.getIsCommutative(), op.getAllowsUninitializedInput());
    return s;
  }

  private void arguments(String kind, List<String> arguments) {
    for (int i = 0; i < arguments.size(); i++) {
      lines.put(kind + " " + i, arguments.get(i));
    }
  }

  private void attribute(String name, String line, Set<String> values) {
    lines.put("attr " + name, line);
    allowed.put(name, values);
  }

  private void flags(boolean stateful, boolean commutative, boolean uninitialized) {
    lines.put("stateful", Boolean.toString(stateful));
    lines.put("commutative", Boolean.toString(commutative));
    lines.put("takes uninitialized", Boolean.toString(uninitialized));
  }

  private static String text(Op.Arg a) {
    String type = a.type() == null ? a.typeAttr() : a.type().label();
    String list = a.typeListAttr() == null ? type : "[" + a.typeListAttr() + "]";
    String number = a.numberAttr() == null ? "" : a.numberAttr() + " * ";
    return a.name() + ": " + (a.isRef() ? "ref " : "") + number + list;
  }

  private static String text(OpDef.ArgDef a) {
    String type =
        a.getTypeAttr().isEmpty() && a.getTypeListAttr().isEmpty()
            ? DType.of(a.getType().getNumber()).label()
            : a.getTypeAttr();
    String list = a.getTypeListAttr().isEmpty() ? type : "[" + a.getTypeListAttr() + "]";
    String number = a.getNumberAttr().isEmpty() ? "" : a.getNumberAttr() + " * ";
    return a.getName() + ": " + (a.getIsRef() ? "ref " : "") + number + list;
  }

  private static String text(AttrValue value) {
    return switch (value) {
      case AttrValue.Str v -> '"' + v.text() + '"';
      case AttrValue.Int v -> Long.toString(v.value());
      case AttrValue.Real v -> Float.toString(v.value());
      case AttrValue.Bool v -> Boolean.toString(v.value());
      case AttrValue.Type v -> v.value().label();
      case AttrValue.Dims v -> v.value().toString();
      case AttrValue.Many v -> v.values().stream().map(OpSignature::text).toList().toString();
      default -> "tensor or function";
    };
  }

  private static String text(dev.millrace.proto.AttrValue value) {
    return switch (value.getValueCase()) {
      case S -> '"' + value.getS().toStringUtf8() + '"';
      case I -> Long.toString(value.getI());
      case F -> Float.toString(value.getF());
      case B -> Boolean.toString(value.getB());
      case TYPE -> DType.of(value.getType().getNumber()).label();
      case SHAPE -> shape(value).toString();
      case LIST -> list(value.getList());
      default -> "tensor or function";
    };
  }

  private static String list(dev.millrace.proto.AttrValue.ListValue list) {
    List<String> values = new ArrayList<>();
    list.getSList().forEach(v -> values.add('"' + v.toStringUtf8() + '"'));
    list.getIList().forEach(v -> values.add(Long.toString(v)));
    list.getFList().forEach(v -> values.add(Float.toString(v)));
    list.getTypeList().forEach(v -> values.add(DType.of(v.getNumber()).label()));
    return values.toString();
  }

  private static Shape shape(dev.millrace.proto.AttrValue value) {
    if (value.getShape().getUnknownRank()) {
      return Shape.unknown();
    }
    return Shape.of(value.getShape().getDimList().stream().mapToLong(d -> d.getSize()).toArray());
  }

  private static boolean isKnown(DataType type) {
    return type != DataType.UNRECOGNIZED
        && type.getNumber() <= DType.UINT64.number()
        && !type.name().startsWith("DT_Q");
  }
}
