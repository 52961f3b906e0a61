package dev.millrace.train.layers;

import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.GatherNd;
import dev.millrace.ops.array.Reshape;
import dev.millrace.ops.array.SegmentSum;
import dev.millrace.ops.array.ShapeOf;
import dev.millrace.ops.array.Slice;
import dev.millrace.ops.array.Where;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.math.Cast;
import dev.millrace.ops.math.Comparisons;
import dev.millrace.ops.math.Unary;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.train.variable.GraphVariable;

/**
 * The rows of a table that the ids of an example name, combined into one. The ids are a matrix with
 * a row for each example; places with an id below 0 are empty. Only the rows named travel and are
 * trained.
 */
public final class EmbeddingBag {
  private EmbeddingBag() {}

  /** How rows become one, with their weights, or 1 for each. */
  public enum Combiner {
    /** The sum of the weighted rows. */
    SUM,
    /** The sum divided by that of the weights. */
    MEAN,
    /** The sum divided by the root of the sum of the squared weights. */
    SQRT_N
  }

  /**
   * The combined rows, zeros for an example without ids.
   *
   * @param weights of the same shape as {@code ids}; null for 1 each
   */
  public static Output of(
      Scope scope, GraphVariable table, Output ids, Output weights, Combiner combiner) {
    Scope s = scope.withSubScope("embedding_bag");
    Output there = Comparisons.greaterEqual(s, ids, Const.of(s, ids.dtype(), 0));
    Output places = Where.of(s, there);
    Output rows = Embedding.lookup(s, table, GatherNd.of(s, ids, places));
    Output example =
        Reshape.of(s, Slice.of(s, places, new int[] {0, 0}, new int[] {-1, 1}), Shape.of(-1));
    Output size = ShapeOf.of(s, ids);
    Output examples =
        Reshape.of(s, Slice.of(s, size, new int[] {0}, new int[] {1}), Shape.scalar());
    Output weight = null;
    if (weights != null) {
      weight = Reshape.of(s, GatherNd.of(s, weights, places), Shape.of(-1, 1));
      rows = Arithmetic.mul(s, rows, weight);
    }
    Output sum = SegmentSum.unsorted(s, rows, example, examples);
    if (combiner == Combiner.SUM) {
      return sum;
    }
    if (weight == null) {
      Output ones = s.node("OnesLike").input(example).add().output();
      weight = Reshape.of(s, Cast.of(s, ones, DType.FLOAT), Shape.of(-1, 1));
    }
    Output each = combiner == Combiner.MEAN ? weight : Unary.square(s, weight);
    Output total = SegmentSum.unsorted(s, each, example, examples);
    Output divisor = combiner == Combiner.MEAN ? total : Unary.sqrt(s, total);
    // An example without ids has a sum of 0, and so a quotient of 0 by any other number.
    Output empty = Comparisons.equal(s, total, Const.of(s, 0f));
    Output one = Cast.of(s, empty, DType.FLOAT);
    return Arithmetic.realDiv(s, sum, Arithmetic.add(s, divisor, one));
  }
}
