package dev.millrace.ops.io;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.proto.Feature;
import dev.millrace.proto.FeatureList;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** Lists of features, one for each step of time, gathered from all examples into outputs. */
final class FeatureSteps {
  private final KernelContext c;
  private final List<Map<String, FeatureList>> examples;
  private final Tensor names;

  /** Whether outputs have a dimension for the examples; without there is one example. */
  private final boolean batched;

  FeatureSteps(
      KernelContext c, List<Map<String, FeatureList>> examples, Tensor names, boolean batched) {
    this.c = c;
    this.examples = examples;
    this.names = names;
    this.batched = batched;
  }

  /**
   * Output {@code i} becomes the indices of all values there are, by example, step and number, the
   * outputs {@code apart} and twice that behind it the values and the shape of the whole.
   */
  void sparse(int i, int apart, String key, DType type) {
    long total = 0;
    long most = 0;
    long longest = 0;
    for (int e = 0; e < examples.size(); e++) {
      int steps = steps(e, key);
      longest = Math.max(longest, steps);
      for (int t = 0; t < steps; t++) {
        int count = count(e, key, t, type);
        total += count;
        most = Math.max(most, count);
      }
    }
    int rank = batched ? 3 : 2;
    Tensor indices = c.allocate(i, Shape.of(total, rank));
    Tensor values = c.allocate(i + apart, Shape.of(total));
    Tensor shape = c.allocate(i + 2 * apart, Shape.of(rank));
    long at = 0;
    for (int e = 0; e < examples.size(); e++) {
      for (int t = 0; t < steps(e, key); t++) {
        int count = count(e, key, t, type);
        for (int k = 0; k < count; k++) {
          long last = (at + k) * rank + rank - 1;
          indices.setLong(last, k);
          indices.setLong(last - 1, t);
          if (batched) {
            indices.setLong(last - 2, e);
          }
        }
        put(e, key, t, type, values, at);
        at += count;
      }
    }
    shape.setLong(rank - 1, most);
    shape.setLong(rank - 2, longest);
    if (batched) {
      shape.setLong(0, examples.size());
    }
  }

  /**
   * Output {@code i} becomes the values of a feature that has {@code shape} in each step; shorter
   * lists are filled up with zeros or empty strings. Output {@code lengths} becomes the number of
   * steps of each example, unless it is -1.
   */
  void dense(int i, int lengths, String key, DType type, Shape shape, boolean mayBeMissing) {
    if (!shape.isKnown()) {
      throw MillraceException.invalid(
          "feature_list_dense_shapes of '%s' is %s; it must be known.", key, shape);
    }
    long longest = 0;
    for (int e = 0; e < examples.size(); e++) {
      if (!examples.get(e).containsKey(key) && !mayBeMissing) {
        throw MillraceException.invalid(
            "Name: %s, Feature list '%s' is required but could not be found.  Did you mean to"
                + " include it in feature_list_dense_missing_assumed_empty or"
                + " feature_list_dense_defaults?",
            FeatureColumns.name(names, e), key);
      }
      longest = Math.max(longest, steps(e, key));
    }
    Shape each = Shape.of(longest).concat(shape);
    Tensor out = c.allocate(i, batched ? Shape.of(examples.size()).concat(each) : each);
    clear(out);
    long size = shape.elements();
    for (int e = 0; e < examples.size(); e++) {
      for (int t = 0; t < steps(e, key); t++) {
        int count = count(e, key, t, type);
        if (count != size) {
          throw MillraceException.invalid(
              "Name: %s, Key: %s, Index: %d.  Number of %s values != expected.  values size: %d but"
                  + " output shape: %s",
              FeatureColumns.name(names, e), key, t, FeatureColumns.word(type), count, shape);
        }
        put(e, key, t, type, out, (e * longest + t) * size);
      }
    }
    if (lengths >= 0) {
      Tensor n = c.allocate(lengths, batched ? Shape.of(examples.size()) : Shape.scalar());
      for (int e = 0; e < examples.size(); e++) {
        n.setLong(e, steps(e, key));
      }
    }
  }

  /**
   * Output {@code i} becomes all values, the outputs {@code apart} and twice that behind it where
   * the steps of each example begin, and where the values of each step do.
   */
  void ragged(int i, int apart, String key, DType type) {
    long steps = 0;
    long total = 0;
    Tensor outer = c.allocate(i + apart, Shape.of(batched ? examples.size() + 1 : 0));
    for (int e = 0; e < examples.size(); e++) {
      if (batched) {
        outer.setLong(e, steps);
      }
      for (int t = 0; t < steps(e, key); t++) {
        total += count(e, key, t, type);
      }
      steps += steps(e, key);
    }
    if (batched) {
      outer.setLong(examples.size(), steps);
    }
    Tensor values = c.allocate(i, Shape.of(total));
    Tensor inner = c.allocate(i + 2 * apart, Shape.of(steps + 1));
    long at = 0;
    long step = 0;
    for (int e = 0; e < examples.size(); e++) {
      for (int t = 0; t < steps(e, key); t++) {
        inner.setLong(step++, at);
        put(e, key, t, type, values, at);
        at += count(e, key, t, type);
      }
    }
    inner.setLong(step, at);
  }

  private int steps(int example, String key) {
    FeatureList list = examples.get(example).get(key);
    return list == null ? 0 : list.getFeatureCount();
  }

  /** How many values a step has, which must be of this type. */
  private int count(int example, String key, int step, DType type) {
    Feature feature = examples.get(example).get(key).getFeature(step);
    DType found = FeatureColumns.typeOf(feature);
    if (found != null && found != type) {
      throw MillraceException.invalid(
          "Name: %s, Feature list: %s, Index: %d.  Data types don't match. Expected type: %s "
              + " Feature is: %s_list",
          FeatureColumns.name(names, example), key, step, type, FeatureColumns.word(found));
    }
    return found == null ? 0 : FeatureColumns.count(feature);
  }

  private void put(int example, String key, int step, DType type, Tensor to, long at) {
    if (count(example, key, step, type) > 0) {
      FeatureColumns.put(examples.get(example).get(key).getFeature(step), to, at);
    }
  }

  private static void clear(Tensor t) {
    if (t.dtype() == DType.STRING) {
      Arrays.fill(t.objects(), new byte[0]);
    } else {
      t.data().fill((byte) 0);
    }
  }
}
