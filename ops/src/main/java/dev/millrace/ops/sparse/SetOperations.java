package dev.millrace.ops.sparse;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.ShapeContext;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Differences, intersections and unions of sets, each a row of the last dimension of a dense or a
 * sparse tensor. The result is sparse, its sets sorted.
 */
final class SetOperations {
  private static final String TYPES = "T: {int8, int16, int32, int64, uint8, uint16, string}";

  static final List<Op> ALL =
      List.of(
          define("DenseToDenseSetOperation", false, false),
          define("DenseToSparseSetOperation", false, true),
          define("SparseToSparseSetOperation", true, true));

  /** The sets of one operand by their row, and the shape of what they are rows of. */
  private record Sets(Shape rows, SortedMap<Long, SortedSet<Element>> byRow) {}

  /** A whole number or a string, in TensorFlow's order. */
  private record Element(long number, byte[] text) implements Comparable<Element> {
    @Override
    public int compareTo(Element other) {
      return text == null
          ? Long.compare(number, other.number)
          : Arrays.compareUnsigned(text, other.text);
    }

    @Override
    public boolean equals(Object o) {
      return o instanceof Element e && compareTo(e) == 0;
    }

    @Override
    public int hashCode() {
      return text == null ? Long.hashCode(number) : Arrays.hashCode(text);
    }
  }

  private SetOperations() {}

  private static Op define(String name, boolean firstSparse, boolean secondSparse) {
    Op.Builder op =
        Op.define(name)
            .attr("set_operation: string")
            .attr("validate_indices: bool = true")
            .attr(TYPES);
    add(op, "set1", firstSparse);
    add(op, "set2", secondSparse);
    return op.output("result_indices: int64")
        .output("result_values: T")
        .output("result_shape: int64")
        .shape(c -> infer(c, firstSparse, secondSparse))
        .kernelPerNode(node -> kernel(node, firstSparse, secondSparse))
        .noGradient("sets are not differentiable")
        .build();
  }

  private static void add(Op.Builder op, String name, boolean sparse) {
    if (sparse) {
      op.input(name + "_indices: int64").input(name + "_values: T").input(name + "_shape: int64");
    } else {
      op.input(name + ": T");
    }
  }

  /** The rank is that of either operand, where it is known. */
  private static List<Shape> infer(ShapeContext c, boolean firstSparse, boolean secondSparse) {
    long rank = Math.max(rank(c, 0, firstSparse), rank(c, firstSparse ? 3 : 1, secondSparse));
    return List.of(Shape.of(Shape.UNKNOWN, rank), Shape.of(Shape.UNKNOWN), Shape.of(rank));
  }

  private static long rank(ShapeContext c, int input, boolean sparse) {
    Shape s = c.input(sparse ? input + 2 : input);
    return !s.hasRank() ? Shape.UNKNOWN : sparse ? (s.rank() == 1 ? s.dim(0) : -1) : s.rank();
  }

  private static Kernel kernel(Node node, boolean firstSparse, boolean secondSparse) {
    String name = node.stringAttr("set_operation").toLowerCase(Locale.ROOT);
    if (!List.of("a-b", "b-a", "intersection", "union").contains(name)) {
      throw MillraceException.invalid("Invalid set_operation %s.", name);
    }
    boolean validate = node.booleanAttr("validate_indices");
    return c -> {
      Sets a = sets(c, 0, firstSparse, validate);
      Sets b = sets(c, firstSparse ? 3 : 1, secondSparse, validate);
      if (!a.rows.equals(b.rows)) {
        throw MillraceException.invalid(
            "Mismatched group shapes of set1 and set2: %s and %s", a.rows, b.rows);
      }
      write(c, a.rows, combined(name, a, b));
    };
  }

  private static Sets sets(KernelContext c, int input, boolean sparse, boolean validate) {
    SortedMap<Long, SortedSet<Element>> byRow = new TreeMap<>();
    if (!sparse) {
      Tensor t = c.input(input);
      Shape s = t.shape();
      if (s.rank() < 2) {
        throw MillraceException.invalid("Shape %s has rank %d < 2.", s, s.rank());
      }
      for (long i = 0; i < t.elements(); i++) {
        byRow.computeIfAbsent(i / s.dim(-1), r -> new TreeSet<>()).add(element(t, i));
      }
      return new Sets(s.slice(0, s.rank() - 1), byRow);
    }
    Coo in = Coo.of(c, input);
    if (in.rank() < 2) {
      throw MillraceException.invalid("Shape %s has rank %d < 2.", in.shape(), in.rank());
    }
    if (validate) {
      in.requireOrder();
    }
    for (long i = 0; i < in.count(); i++) {
      long row = in.position(i) / in.shape().dim(in.rank() - 1);
      byRow.computeIfAbsent(row, r -> new TreeSet<>()).add(element(in.values(), i));
    }
    return new Sets(in.shape().slice(0, in.rank() - 1), byRow);
  }

  private static Element element(Tensor t, long i) {
    return t.dtype() == DType.STRING
        ? new Element(0, t.bytesAt(i))
        : new Element(t.longAt(i), null);
  }

  private static SortedMap<Long, SortedSet<Element>> combined(String name, Sets a, Sets b) {
    SortedMap<Long, SortedSet<Element>> result = new TreeMap<>();
    TreeSet<Long> rows = new TreeSet<>(a.byRow.keySet());
    rows.addAll(b.byRow.keySet());
    for (long row : rows) {
      SortedSet<Element> ofA = a.byRow.getOrDefault(row, new TreeSet<>());
      SortedSet<Element> ofB = b.byRow.getOrDefault(row, new TreeSet<>());
      TreeSet<Element> set = new TreeSet<>(name.equals("b-a") ? ofB : ofA);
      switch (name) {
        case "a-b" -> set.removeAll(ofB);
        case "b-a" -> set.removeAll(ofA);
        case "intersection" -> set.retainAll(ofB);
        default -> set.addAll(ofB);
      }
      if (!set.isEmpty()) {
        result.put(row, set);
      }
    }
    return result;
  }

  private static void write(
      KernelContext c, Shape rows, SortedMap<Long, SortedSet<Element>> result) {
    long count = 0;
    long longest = 0;
    for (SortedSet<Element> set : result.values()) {
      count += set.size();
      longest = Math.max(longest, set.size());
    }
    Shape whole = rows.concat(Shape.of(longest));
    Tensor indices = c.allocate(0, Shape.of(count, whole.rank()));
    Tensor values = c.allocate(1, Shape.of(count));
    Coo.putShape(c, 2, whole);
    long i = 0;
    for (var entry : result.entrySet()) {
      long k = 0;
      for (Element e : entry.getValue()) {
        Coo.putCoordinates(indices, i, whole, entry.getKey() * longest + k++);
        if (values.dtype() == DType.STRING) {
          values.objects()[(int) i] = e.text;
        } else {
          values.setLong(i, e.number);
        }
        i++;
      }
    }
  }
}
