package dev.millrace.train.metric;

import dev.millrace.base.MillraceException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Mean NDCG and mean average precision over queries. Labels are relevances of at least 0; for
 * average precision, above 0 is relevant. A query without a relevant item counts as 0. Items with
 * equal scores share their places evenly, as in scikit-learn.
 *
 * <p>All items of a query are in one batch: the state has sums over queries.
 */
public final class Ranking extends SummedMetric {
  /** What an item of a relevance is worth to NDCG. */
  public enum Gain {
    /** The relevance itself. */
    LINEAR {
      @Override
      double of(double relevance) {
        return relevance;
      }
    },
    /** {@code 2^relevance - 1}: a very relevant item outweighs several less relevant ones. */
    EXPONENTIAL {
      @Override
      double of(double relevance) {
        return Math.pow(2, relevance) - 1;
      }
    };

    abstract double of(double relevance);
  }

  private final int places;
  private final Gain gain;

  /** Over all places of the list, with linear gain. */
  public Ranking() {
    this(Integer.MAX_VALUE, Gain.LINEAR);
  }

  /** With NDCG over the first {@code places} of the list. */
  public Ranking(int places, Gain gain) {
    super(3);
    if (places < 1) {
      throw MillraceException.invalid("NDCG needs at least 1 place, not %d.", places);
    }
    this.places = places;
    this.gain = gain;
  }

  @Override
  public void add(Examples examples) {
    Map<Long, List<Integer>> queries = new LinkedHashMap<>();
    for (int i = 0; i < examples.size(); i++) {
      if (examples.labels()[i] < 0) {
        throw MillraceException.invalid(
            "Item %d has relevance %s; a relevance is at least 0.", i, examples.labels()[i]);
      }
      queries.computeIfAbsent(examples.queries()[i], q -> new ArrayList<>()).add(i);
    }
    for (List<Integer> items : queries.values()) {
      Examples query = examples.select(items.stream().mapToInt(Integer::intValue).toArray());
      double weight = 0;
      for (double w : query.weights()) {
        weight += w / query.size();
      }
      sums[0] += weight * ndcg(query);
      sums[1] += weight * averagePrecision(query);
      sums[2] += weight;
    }
  }

  private double ndcg(Examples query) {
    double best = gained(query.labels(), query.labels());
    return best == 0 ? 0 : gained(query.predictions(), query.labels()) / best;
  }

  /** The discounted gain of the items in the order of {@code scores}. */
  private double gained(double[] scores, double[] relevances) {
    int[] order = ScoreOrder.descending(scores, scores.length);
    double sum = 0;
    for (int start = 0, end; start < order.length && start < places; start = end) {
      double gains = 0;
      double discounts = 0;
      for (end = start; end < order.length && equal(scores, order, start, end); end++) {
        gains += gain.of(relevances[order[end]]);
        discounts += end < places ? Math.log(2) / Math.log(end + 2) : 0;
      }
      sum += gains / (end - start) * discounts;
    }
    return sum;
  }

  private static double averagePrecision(Examples query) {
    int[] order = ScoreOrder.descending(query.predictions(), query.size());
    double sum = 0;
    int found = 0;
    for (int start = 0, end; start < order.length; start = end) {
      int before = found;
      for (end = start;
          end < order.length && equal(query.predictions(), order, start, end);
          end++) {
        found += query.labels()[order[end]] > 0 ? 1 : 0;
      }
      sum += (found - before) * (double) found / end;
    }
    return found == 0 ? 0 : sum / found;
  }

  private static boolean equal(double[] scores, int[] order, int a, int b) {
    return scores[order[a]] == scores[order[b]];
  }

  /** The mean normalised discounted cumulative gain; NaN without queries. */
  public double ndcg() {
    return sums[0] / sums[2];
  }

  /** The mean average precision; NaN without queries. */
  public double meanAveragePrecision() {
    return sums[1] / sums[2];
  }

  @Override
  public Map<String, Double> values() {
    Map<String, Double> values = new LinkedHashMap<>();
    values.put("ndcg", ndcg());
    values.put("mean_average_precision", meanAveragePrecision());
    return values;
  }
}
