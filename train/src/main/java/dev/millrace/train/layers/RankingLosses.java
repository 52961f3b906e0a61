package dev.millrace.train.layers;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.ExpandDims;
import dev.millrace.ops.array.Select;
import dev.millrace.ops.array.ZerosLike;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.math.Cast;
import dev.millrace.ops.math.Comparisons;
import dev.millrace.ops.math.Reduction;
import dev.millrace.ops.nn.Activations;
import dev.millrace.ops.nn.CrossEntropy;

/**
 * Losses of models that order the items of a query. Scores and relevances are {@code [queries,
 * items]}; an item with a relevance below 0 is padding and has no influence.
 */
public final class RankingLosses {
  /** Low enough that softmax gives padding a probability of 0 in float and double. */
  private static final double PADDING_SCORE = -1e9;

  private RankingLosses() {}

  /**
   * Mean logistic loss over all pairs of items of a query of which one is more relevant: {@code
   * log(1 + exp(score of the less relevant - score of the more relevant))}. Zero without a pair.
   */
  public static Output pairwiseLogistic(Scope scope, Output scores, Output relevances) {
    check("Pairwise logistic loss", scores, relevances);
    Scope s = scope.withSubScope("pairwise_logistic_loss");
    // [query, i, j]: by how much item j scores above item i, and whether i should be above j.
    Output above = Arithmetic.sub(s, ExpandDims.of(s, scores, 1), ExpandDims.of(s, scores, 2));
    Output lower = ExpandDims.of(s, relevances, 1);
    Output ordered = Comparisons.greater(s, ExpandDims.of(s, relevances, 2), lower);
    Output real = Comparisons.greaterEqual(s, lower, ZerosLike.of(s, lower));
    Output pairs =
        Arithmetic.mul(s, Cast.of(s, ordered, scores.dtype()), Cast.of(s, real, scores.dtype()));
    Output sum = Reduction.sumAll(s, Arithmetic.mul(s, pairs, Activations.softplus(s, above)));
    Output count =
        Arithmetic.maximum(s, Reduction.sumAll(s, pairs), Const.of(s, scores.dtype(), 1));
    return Arithmetic.realDiv(s, sum, count);
  }

  /**
   * Mean over the queries with a relevant item of the cross entropy of softmax of the scores with
   * the relevances, scaled to a sum of 1. Zero without such a query.
   */
  public static Output listwiseSoftmax(Scope scope, Output scores, Output relevances) {
    check("Listwise softmax loss", scores, relevances);
    Scope s = scope.withSubScope("listwise_softmax_loss");
    Output real = Comparisons.greaterEqual(s, relevances, ZerosLike.of(s, relevances));
    Output logits = Select.of(s, real, scores, Const.of(s, scores.dtype(), PADDING_SCORE));
    Output gains = Activations.relu(s, relevances);
    Output totals = Reduction.sum(s, gains, Const.ints(s, 1), true);
    Output relevant =
        Cast.of(s, Comparisons.greater(s, totals, ZerosLike.of(s, totals)), scores.dtype());
    Output divisor =
        Arithmetic.add(s, totals, Arithmetic.sub(s, Const.of(s, scores.dtype(), 1), relevant));
    Output rows = CrossEntropy.of(s, logits, Arithmetic.realDiv(s, gains, divisor));
    // The gradient of a cross entropy takes labels for a distribution, which zeros are not.
    rows = Arithmetic.mul(s, rows, Reduction.sum(s, relevant, 1));
    Output count =
        Arithmetic.maximum(s, Reduction.sumAll(s, relevant), Const.of(s, scores.dtype(), 1));
    return Arithmetic.realDiv(s, Reduction.sumAll(s, rows), count);
  }

  private static void check(String loss, Output scores, Output relevances) {
    for (Output x : new Output[] {scores, relevances}) {
      if (x.shape().rank() != 2) {
        throw MillraceException.invalid(
            "%s: '%s' has shape %s; scores and relevances are matrices of [queries, items].",
            loss, x.name(), x.shape());
      }
    }
  }
}
