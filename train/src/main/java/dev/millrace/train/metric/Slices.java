package dev.millrace.train.metric;

import dev.millrace.base.MillraceException;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Supplier;

/**
 * A metric for each slice of the examples, such as each country: a good mean can hide a slice that
 * is served badly.
 *
 * <p>Threading: one thread at a time.
 */
public final class Slices<M extends Metric> {
  private final Supplier<M> metric;
  private final int most;
  private final Map<String, M> slices = new TreeMap<>();

  /**
   * Without slices yet.
   *
   * @param metric makes the metric of a slice
   * @param most how many slices there may be; guards against slicing by a key such as a user
   */
  public Slices(Supplier<M> metric, int most) {
    this.metric = metric;
    this.most = most;
  }

  /** Adds examples, each to the slice that the key at its place names. */
  public void add(String[] keys, Examples examples) {
    if (keys.length != examples.size()) {
      throw MillraceException.invalid(
          "%d keys of slices were given for %d examples.", keys.length, examples.size());
    }
    Map<String, int[]> members = new LinkedHashMap<>();
    Map<String, Integer> counts = new LinkedHashMap<>();
    for (int i = 0; i < keys.length; i++) {
      int n = counts.merge(keys[i], 1, Integer::sum);
      int[] list = members.getOrDefault(keys[i], new int[4]);
      list = n > list.length ? Arrays.copyOf(list, 2 * list.length) : list;
      list[n - 1] = i;
      members.put(keys[i], list);
    }
    members.forEach(
        (key, list) -> slice(key).add(examples.select(Arrays.copyOf(list, counts.get(key)))));
  }

  private M slice(String key) {
    M slice = slices.get(key);
    if (slice == null) {
      if (slices.size() >= most) {
        throw MillraceException.invalid(
            "Slice '%s' would be one more than the %d allowed. Slice by a coarser key, or allow"
                + " more.",
            key, most);
      }
      slice = metric.get();
      slices.put(key, slice);
    }
    return slice;
  }

  /** The metric of each slice, in the order of their keys. */
  public Map<String, M> metrics() {
    return new LinkedHashMap<>(slices);
  }

  /** The state of each slice, for {@link #merge} in another worker. */
  public Map<String, double[]> states() {
    Map<String, double[]> states = new LinkedHashMap<>();
    slices.forEach((key, m) -> states.put(key, m.state()));
    return states;
  }

  /** Adds the examples that the slices of another worker have seen. */
  public void merge(Map<String, double[]> states) {
    states.forEach((key, state) -> slice(key).merge(state));
  }
}
