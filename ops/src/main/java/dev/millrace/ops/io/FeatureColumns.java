package dev.millrace.ops.io;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.proto.Feature;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.Map;

/** Features of examples, each gathered from all of them into outputs of a kernel. */
final class FeatureColumns {
  private final KernelContext c;
  private final List<Map<String, Feature>> examples;
  private final Tensor names;

  /** Whether outputs have a dimension for the examples; without there is one example. */
  private final boolean batched;

  /**
   * The columns of parsed examples.
   *
   * @param names names of the examples for error messages; null or empty if there are none
   */
  FeatureColumns(
      KernelContext c, List<Map<String, Feature>> examples, Tensor names, boolean batched) {
    this.c = c;
    this.examples = examples;
    this.names = names;
    this.batched = batched;
  }

  /**
   * Output {@code i} becomes the indices of all values there are, the outputs {@code apart} and
   * twice that behind it the values and the shape of the whole.
   */
  void sparse(int i, int apart, String key, DType type) {
    long total = 0;
    long longest = 0;
    for (int e = 0; e < examples.size(); e++) {
      Feature feature = find(e, key, type);
      long count = feature == null ? 0 : count(feature);
      total += count;
      longest = Math.max(longest, count);
    }
    Tensor indices = c.allocate(i, Shape.of(total, batched ? 2 : 1));
    Tensor values = c.allocate(i + apart, Shape.of(total));
    Tensor shape = c.allocate(i + 2 * apart, Shape.of(batched ? 2 : 1));
    long at = 0;
    for (int e = 0; e < examples.size(); e++) {
      Feature feature = find(e, key, type);
      long count = feature == null ? 0 : count(feature);
      for (long k = 0; k < count; k++) {
        if (batched) {
          indices.setLong(2 * (at + k), e);
          indices.setLong(2 * (at + k) + 1, k);
        } else {
          indices.setLong(at + k, k);
        }
      }
      if (feature != null) {
        put(feature, values, at);
      }
      at += count;
    }
    if (batched) {
      shape.setLong(0, examples.size());
    }
    shape.setLong(batched ? 1 : 0, longest);
  }

  /**
   * Output {@code i} becomes the values of a feature, of which each example has {@code shape}. With
   * an unknown first dimension that is as long as the longest, the others filled up.
   *
   * @param absent stands for a feature that is not there; empty where it must be
   */
  void dense(int i, String key, Shape shape, Tensor absent) {
    DType type = absent.dtype();
    boolean variable = shape.rank() > 0 && shape.dim(0) == Shape.UNKNOWN;
    Shape rest = variable ? shape.slice(1, shape.rank()) : shape;
    if (!rest.isKnown()) {
      throw MillraceException.invalid(
          "dense_shapes of '%s' is %s: only its first dimension may be unknown.", key, shape);
    }
    if (variable && absent.elements() != 1) {
      throw MillraceException.invalid(
          "dense_shapes of '%s' is %s, of variable length, so its default must be the one element"
              + " to fill up with; it has shape %s.",
          key, shape, absent.shape());
    }
    if (!variable && absent.elements() > 0 && !absent.shape().equals(shape)) {
      throw MillraceException.invalid(
          "dense_defaults of '%s' has shape %s; it must have %s, or be empty.",
          key, absent.shape(), shape);
    }
    Shape each = variable ? Shape.of(longest(key, type, rest)).concat(rest) : shape;
    long size = each.elements();
    Tensor out = c.allocate(i, batched ? Shape.of(examples.size()).concat(each) : each);
    for (int e = 0; e < examples.size(); e++) {
      Feature feature = find(e, key, type);
      long count = feature == null ? 0 : count(feature);
      if (feature == null && !variable) {
        if (absent.elements() == 0 && size > 0) {
          throw MillraceException.invalid(
              "Name: %s, Feature: %s (data type: %s) is required but could not be found.",
              name(e), key, type);
        }
        copy(absent, out, e * size, size);
        continue;
      }
      if (!variable && count != size) {
        throw failure(
            e,
            key,
            "Number of "
                + word(type)
                + " values != expected. Values size: "
                + count
                + " but output shape: "
                + each);
      }
      if (feature != null) {
        put(feature, out, e * size);
      }
      for (long k = count; k < size; k++) {
        set(out, e * size + k, absent, 0);
      }
    }
  }

  /**
   * Output {@code values} becomes all values of a feature, output {@code splits} where those of
   * each example begin, and at last where they end; of a single example that goes without saying.
   */
  void ragged(int values, int splits, String key, DType type) {
    long total = 0;
    Tensor ends = c.allocate(splits, Shape.of(batched ? examples.size() + 1 : 0));
    for (int e = 0; e < examples.size(); e++) {
      Feature feature = find(e, key, type);
      if (batched) {
        ends.setLong(e, total);
      }
      total += feature == null ? 0 : count(feature);
    }
    if (batched) {
      ends.setLong(examples.size(), total);
    }
    Tensor all = c.allocate(values, Shape.of(total));
    long at = 0;
    for (int e = 0; e < examples.size(); e++) {
      Feature feature = find(e, key, type);
      if (feature != null) {
        put(feature, all, at);
        at += count(feature);
      }
    }
  }

  /** The longest first dimension of a feature whose other dimensions are {@code rest}. */
  private long longest(String key, DType type, Shape rest) {
    long row = rest.elements();
    long longest = 0;
    for (int e = 0; e < examples.size(); e++) {
      Feature feature = find(e, key, type);
      long count = feature == null ? 0 : count(feature);
      if (row == 0 ? count > 0 : count % row != 0) {
        throw failure(
            e,
            key,
            "Number of "
                + word(type)
                + " values is not a multiple of stride length. Values size: "
                + count
                + " but output shape: "
                + rest);
      }
      longest = Math.max(longest, row == 0 ? 0 : count / row);
    }
    return longest;
  }

  /** Null if the example does not have it, or does not say of which type it is. */
  private Feature find(int example, String key, DType type) {
    Feature feature = examples.get(example).get(key);
    DType found = feature == null ? null : typeOf(feature);
    if (found != null && found != type) {
      throw failure(
          example,
          key,
          "Data types don't match. Data type: " + found + " but expected type: " + type);
    }
    return found == null ? null : feature;
  }

  /** The type of a feature's values; null if it does not say. */
  static DType typeOf(Feature feature) {
    return switch (feature.getKindCase()) {
      case FLOAT_LIST -> DType.FLOAT;
      case INT64_LIST -> DType.INT64;
      case BYTES_LIST -> DType.STRING;
      case KIND_NOT_SET -> null;
    };
  }

  static int count(Feature feature) {
    return switch (feature.getKindCase()) {
      case FLOAT_LIST -> feature.getFloatList().getValueCount();
      case INT64_LIST -> feature.getInt64List().getValueCount();
      default -> feature.getBytesList().getValueCount();
    };
  }

  static void put(Feature feature, Tensor out, long at) {
    int n = count(feature);
    for (int k = 0; k < n; k++) {
      switch (feature.getKindCase()) {
        case FLOAT_LIST -> out.setDouble(at + k, feature.getFloatList().getValue(k));
        case INT64_LIST -> out.setLong(at + k, feature.getInt64List().getValue(k));
        default ->
            out.objects()[Math.toIntExact(at + k)] =
                feature.getBytesList().getValue(k).toByteArray();
      }
    }
  }

  private static void copy(Tensor from, Tensor out, long at, long n) {
    for (long k = 0; k < n; k++) {
      set(out, at + k, from, k);
    }
  }

  private static void set(Tensor out, long at, Tensor from, long i) {
    switch (out.dtype()) {
      case STRING -> out.objects()[Math.toIntExact(at)] = from.bytesAt(i);
      case FLOAT -> out.setDouble(at, from.doubleAt(i));
      default -> out.setLong(at, from.longAt(i));
    }
  }

  private MillraceException failure(int example, String key, String what) {
    return MillraceException.invalid(
        "Name: %s, Key: %s, Index: %d.  %s", name(example), key, example, what);
  }

  private String name(int example) {
    return name(names, example);
  }

  /** What to call an example in messages. */
  static String name(Tensor names, int example) {
    boolean named = names != null && example < names.elements();
    return named ? names.stringAt(example) : "<unknown>";
  }

  /** What the lists of an example call a type. */
  static String word(DType type) {
    return type == DType.STRING ? "bytes" : type.toString();
  }
}
