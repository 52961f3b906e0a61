package dev.millrace.ops.random;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.AttrValue;
import dev.millrace.graph.Node;
import dev.millrace.ops.io.WholeFiles;
import dev.millrace.tensor.math.random.Philox;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * Classes with given weights, from an attribute or a file, drawn by Walker's alias method: a column
 * is as likely as any other, and gives its own class or one that stands in for it.
 *
 * <p>Threading: immutable.
 */
final class FixedUnigram implements RangeSampler {
  private final float[] weights;
  private final float total;
  private final float[] own;
  private final int[] other;

  /** The distribution of the weights that the attributes of {@code node} give. */
  static FixedUnigram of(Node node) {
    double distortion = node.floatAttr("distortion");
    long shards = node.longAttr("num_shards");
    long shard = node.longAttr("shard");
    long reserved = node.longAttr("num_reserved_ids");
    List<Float> raw = new ArrayList<>();
    for (long i = 0; i < reserved; i++) {
      raw.add(0f);
    }
    raw.addAll(given(node));
    List<Float> kept = new ArrayList<>();
    for (int i = 0; i < raw.size(); i++) {
      if (i % shards == shard) {
        kept.add(i < reserved ? 0f : (float) Math.pow(raw.get(i), distortion));
      }
    }
    long range = node.longAttr("range_max");
    if (kept.size() != range) {
      throw MillraceException.invalid(
          "%s '%s': range is %d, but there are %d weights.",
          node.op().name(), node.name(), range, kept.size());
    }
    float[] weights = new float[kept.size()];
    for (int i = 0; i < weights.length; i++) {
      weights[i] = kept.get(i);
    }
    return new FixedUnigram(weights);
  }

  private static List<Float> given(Node node) {
    String file = node.stringAttr("vocab_file");
    List<Float> list = new ArrayList<>();
    for (AttrValue v : node.listAttr("unigrams")) {
      list.add(((AttrValue.Real) v).value());
    }
    if (file.isEmpty() == list.isEmpty()) {
      throw MillraceException.invalid(
          "%s '%s': must provide exactly one of vocab_file and unigrams.",
          node.op().name(), node.name());
    }
    if (file.isEmpty()) {
      return list;
    }
    String text = new String(WholeFiles.contents(file), StandardCharsets.UTF_8);
    try {
      for (String line : text.lines().toList()) {
        list.add(Float.parseFloat(line.substring(line.lastIndexOf(',') + 1).strip()));
      }
      return list;
    } catch (NumberFormatException e) {
      throw MillraceException.invalid(
          "%s '%s': a line of %s does not end with a comma and a number: %s",
          node.op().name(), node.name(), file, e.getMessage());
    }
  }

  FixedUnigram(float[] weights) {
    this.weights = weights;
    int n = weights.length;
    double sum = 0;
    float added = 0;
    for (float w : weights) {
      sum += w;
      added += w;
    }
    total = added;
    own = new float[n];
    other = new int[n];
    pair(sum);
  }

  /** Gives every column that is short of an average weight the rest from one that has more. */
  private void pair(double sum) {
    int n = weights.length;
    double[] left = new double[n];
    int[] high = new int[n];
    int[] low = new int[n];
    int highs = 0;
    int lows = 0;
    for (int i = 0; i < n; i++) {
      left[i] = weights[i] * n / sum;
      if (left[i] < 1) {
        low[lows++] = i;
      } else {
        high[highs++] = i;
      }
    }
    while (highs > 0 && lows > 0) {
      int l = low[--lows];
      int h = high[--highs];
      other[l] = h;
      left[h] -= 1 - left[l];
      if (left[h] < 1) {
        low[lows++] = h;
      } else {
        high[highs++] = h;
      }
    }
    for (int i = 0; i < n; i++) {
      own[i] = (float) left[i];
    }
    // What is left over is 1 but for rounding.
    while (highs > 0) {
      keepWhole(high[--highs]);
    }
    while (lows > 0) {
      keepWhole(low[--lows]);
    }
  }

  private void keepWhole(int i) {
    own[i] = 1;
    other[i] = i;
  }

  @Override
  public long range() {
    return weights.length;
  }

  @Override
  public long sample(Philox.Cursor random) {
    float r = Philox.unitFloat(random.nextInt());
    int column = RangeSampler.uniform32(random, weights.length);
    return r < own[column] ? column : other[column];
  }

  @Override
  public float probability(long value) {
    return value < 0 || value >= weights.length ? 0 : weights[(int) value] / total;
  }
}
