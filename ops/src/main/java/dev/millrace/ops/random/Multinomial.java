package dev.millrace.ops.random;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.ShapeContext;
import dev.millrace.ops.array.Axis;
import dev.millrace.ops.array.Const;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.random.Philox;
import java.util.List;
import java.util.function.LongFunction;

/** Classes drawn with the probabilities that each row of logits gives them. */
public final class Multinomial {
  public static final Op OP =
      Op.define("Multinomial")
          .attr("seed: int = 0")
          .attr("seed2: int = 0")
          .attr("T: realnumbertype")
          .attr("output_dtype: {int32, int64} = int64")
          .input("logits: T")
          .input("num_samples: int32")
          .output("output: output_dtype")
          .stateful()
          .shape(Multinomial::infer)
          .kernelPerNode(
              node -> {
                SeededState state = new SeededState(node);
                return c -> sample(c, n -> state.take(n * SeededState.PER_ELEMENT));
              })
          .noGradient("samples are integers")
          .build();

  static final Op STATELESS =
      Op.define("StatelessMultinomial")
          .attr("T: realnumbertype")
          .attr("Tseed: {int32, int64} = int64")
          .attr("output_dtype: {int32, int64} = int64")
          .input("logits: T")
          .input("num_samples: int32")
          .input("seed: Tseed")
          .output("output: output_dtype")
          .shape(
              c -> {
                c.inputOfRank(2, 1).mergeWith(Shape.of(2));
                return infer(c);
              })
          .kernel(
              c -> {
                Philox source = StatelessKeys.ofSeed(c.input(2));
                sample(c, n -> source);
              })
          .noGradient("samples are integers")
          .build();

  private Multinomial() {}

  /** {@code samples} classes for each row of {@code logits}. */
  public static Output of(Scope scope, Output logits, int samples, long seed, long seed2) {
    return scope
        .node(OP)
        .input(logits)
        .input(Const.of(scope, samples))
        .attr("seed", seed)
        .attr("seed2", seed2)
        .add()
        .output();
  }

  private static List<Shape> infer(ShapeContext c) {
    Tensor n = c.constant(1);
    long samples = n == null ? Shape.UNKNOWN : Axis.single(n, "num_samples");
    return List.of(Shape.of(c.inputOfRank(0, 2).dim(0), samples));
  }

  /** Draws with as many numbers of {@code source} as it is asked for. */
  private static void sample(KernelContext c, LongFunction<Philox> source) {
    Tensor logits = c.input(0);
    if (logits.shape().rank() != 2) {
      throw MillraceException.invalid("logits should be a matrix, got shape %s", logits.shape());
    }
    long samples = Axis.single(c.input(1), "num_samples");
    long rows = logits.shape().dim(0);
    long classes = logits.shape().dim(1);
    if (samples < 0) {
      throw MillraceException.invalid("num_samples should be nonnegative, got %d", samples);
    }
    Tensor y = c.allocate(0, Shape.of(rows, samples));
    if (y.elements() == 0) {
      return;
    }
    if (classes <= 0) {
      throw MillraceException.invalid("num_classes should be positive, got %d", classes);
    }
    // Two numbers for each sample, and the samples of a row rounded up to whole counters.
    long numbers = (samples + 3) / 4 * 4 * 2;
    Philox.Cursor random = source.apply(rows * numbers).cursor();
    double[] sums = new double[Math.toIntExact(classes)];
    for (long row = 0; row < rows; row++) {
      double total = accumulate(logits, row * classes, sums);
      for (long i = 0; i < samples; i++) {
        y.setLong(row * samples + i, find(sums, random.nextDouble() * total));
      }
    }
  }

  /** Running sums of the probabilities, not normalised; logits that are no numbers count 0. */
  private static double accumulate(Tensor logits, long start, double[] sums) {
    double max = Double.NEGATIVE_INFINITY;
    for (int i = 0; i < sums.length; i++) {
      double v = logits.doubleAt(start + i);
      max = Double.isFinite(v) ? Math.max(max, v) : max;
    }
    double total = 0;
    for (int i = 0; i < sums.length; i++) {
      double v = logits.doubleAt(start + i);
      total += Double.isFinite(v) ? Math.exp(v - max) : 0;
      sums[i] = total;
    }
    return total;
  }

  /** The first sum that is larger. */
  private static int find(double[] sums, double value) {
    int low = 0;
    int high = sums.length;
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (sums[middle] > value) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }
}
