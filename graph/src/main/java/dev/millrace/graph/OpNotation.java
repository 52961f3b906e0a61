package dev.millrace.graph;

import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Reads the one-line notation for arguments and attributes that TensorFlow users know from its op
 * documentation:
 *
 * <pre>
 * x: T                    an argument whose element type is attribute T
 * ref: Ref(T)             a reference
 * values: N * T           a list of N tensors
 * components: Tcomponents a list typed by a list(type) attribute
 * T: {float, double}      a type attribute with its allowed values; also numbertype, realnumbertype
 * padding: {'SAME', 'VALID'}
 * N: int &gt;= 1
 * axis: int = 0
 * strides: list(int)
 * </pre>
 */
final class OpNotation {
  private static final Map<String, DType> TYPES = new HashMap<>();

  /** TensorFlow's "numbertype": everything arithmetic, the quantised types included. */
  private static final Set<DType> NUMBER;

  static {
    for (DType t : DType.values()) {
      TYPES.put(t.label(), t);
    }
    Set<DType> number = new LinkedHashSet<>(DType.NUMERIC);
    number.addAll(List.of(DType.QINT8, DType.QUINT8, DType.QINT32, DType.QINT16, DType.QUINT16));
    NUMBER = Set.copyOf(number);
  }

  private OpNotation() {}

  static Op.Arg arg(String text, Map<String, AttrSpec> attrs) {
    int colon = text.indexOf(':');
    String name = text.substring(0, colon).strip();
    String type = text.substring(colon + 1).strip();
    boolean ref = type.startsWith("Ref(");
    if (ref) {
      type = type.substring(4, type.length() - 1).strip();
    }
    String number = null;
    int star = type.indexOf('*');
    if (star > 0) {
      number = type.substring(0, star).strip();
      type = type.substring(star + 1).strip();
    }
    if (TYPES.containsKey(type)) {
      return new Op.Arg(name, TYPES.get(type), null, number, null, ref);
    }
    AttrSpec spec = attrs.get(type);
    if (spec == null) {
      throw new IllegalStateException("'" + text + "' names no attribute: declare those first");
    }
    return spec.kind().equals("list(type)")
        ? new Op.Arg(name, null, null, null, type, ref)
        : new Op.Arg(name, null, type, number, null, ref);
  }

  static AttrSpec attr(String text) {
    int colon = text.indexOf(':');
    String name = text.substring(0, colon).strip();
    String rest = text.substring(colon + 1).strip();
    String defaultText = null;
    long minimum = AttrSpec.NO_MINIMUM;
    int equals = indexOutsideQuotes(rest, '=');
    if (equals > 0 && rest.charAt(equals - 1) == '>') {
      int next = indexOutsideQuotes(rest.substring(equals + 1), '=');
      String min =
          next < 0 ? rest.substring(equals + 1) : rest.substring(equals + 1).substring(0, next);
      defaultText = next < 0 ? null : rest.substring(equals + 1).substring(next + 1).strip();
      minimum = Long.parseLong(min.strip());
      rest = rest.substring(0, equals - 1).strip();
    } else if (equals > 0) {
      defaultText = rest.substring(equals + 1).strip();
      rest = rest.substring(0, equals).strip();
    }
    Set<DType> types = Set.of();
    Set<String> strings = Set.of();
    boolean list = rest.startsWith("list(");
    String kind = list ? rest.substring(5, rest.length() - 1).strip() : rest;
    if (kind.startsWith("{")) {
      List<String> items = items(kind.substring(1, kind.length() - 1));
      if (items.getFirst().startsWith("'")) {
        strings = new LinkedHashSet<>(items.stream().map(OpNotation::unquote).toList());
        kind = "string";
      } else {
        types = new LinkedHashSet<>(items.stream().map(OpNotation::type).toList());
        kind = "type";
      }
    } else if (kind.equals("numbertype")) {
      types = NUMBER;
      kind = "type";
    } else if (kind.equals("realnumbertype")) {
      types = DType.REAL;
      kind = "type";
    }
    AttrValue value = defaultText == null ? null : value(kind, list, defaultText);
    return new AttrSpec(name, list ? "list(" + kind + ")" : kind, value, types, strings, minimum);
  }

  private static AttrValue value(String kind, boolean list, String text) {
    if (list) {
      List<AttrValue> values = new ArrayList<>();
      String inner = text.substring(1, text.length() - 1).strip();
      if (!inner.isEmpty()) {
        items(inner).forEach(i -> values.add(value(kind, false, i)));
      }
      return new AttrValue.Many(List.copyOf(values));
    }
    return switch (kind) {
      case "string" -> AttrValue.Str.of(unquote(text));
      case "int" -> new AttrValue.Int(Long.parseLong(text));
      case "float" -> new AttrValue.Real(Float.parseFloat(text));
      case "bool" -> new AttrValue.Bool(Boolean.parseBoolean(text));
      case "type" -> new AttrValue.Type(type(text));
      case "shape" -> new AttrValue.Dims(shape(text));
      case "tensor" -> new AttrValue.Value(bytes(text));
      default -> throw new IllegalStateException("no default possible for " + kind);
    };
  }

  private static DType type(String label) {
    DType t = TYPES.get(label);
    if (t == null) {
      throw new IllegalStateException("no type " + label);
    }
    return t;
  }

  private static Shape shape(String text) {
    if (text.equals("?")) {
      return Shape.unknown();
    }
    String inner = text.substring(1, text.length() - 1).strip();
    return inner.isEmpty()
        ? Shape.scalar()
        : Shape.of(items(inner).stream().mapToLong(Long::parseLong).toArray());
  }

  /** The only tensor default there is: a vector of bytes, {@code uint8[255, 0, 0, 255]}. */
  private static Tensor bytes(String text) {
    List<String> items = items(text.substring("uint8[".length(), text.length() - 1));
    byte[] b = new byte[items.size()];
    for (int i = 0; i < b.length; i++) {
      b[i] = (byte) Integer.parseInt(items.get(i));
    }
    return Tensor.of(Shape.of(b.length), b);
  }

  private static List<String> items(String text) {
    return Arrays.stream(text.split(",")).map(String::strip).toList();
  }

  private static String unquote(String text) {
    return text.substring(1, text.length() - 1).replace("\\n", "\n");
  }

  private static int indexOutsideQuotes(String s, char c) {
    boolean quoted = false;
    for (int i = 0; i < s.length(); i++) {
      if (s.charAt(i) == '\'') {
        quoted = !quoted;
      } else if (!quoted && s.charAt(i) == c) {
        return i;
      }
    }
    return -1;
  }
}
