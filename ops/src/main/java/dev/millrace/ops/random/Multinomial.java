package dev.millrace.ops.random;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.op.Kernel;
import dev.millrace.graph.op.Op;
import dev.millrace.ops.array.Axis;
import dev.millrace.ops.array.Const;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.Philox;
import java.util.List;

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
          .shape(
              c -> {
                Tensor n = c.constant(1);
                long samples = n == null ? Shape.UNKNOWN : Axis.single(n, "num_samples");
                return List.of(Shape.of(c.inputOfRank(0, 2).dim(0), samples));
              })
          .kernelPerNode(Multinomial::kernel)
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

  private static Kernel kernel(Node node) {
    SeededState state = new SeededState(node);
    return c -> {
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
      Philox.Cursor random = state.take(rows * numbers * SeededState.PER_ELEMENT).cursor();
      double[] sums = new double[Math.toIntExact(classes)];
      for (long row = 0; row < rows; row++) {
        double total = accumulate(logits, row * classes, sums);
        for (long i = 0; i < samples; i++) {
          y.setLong(row * samples + i, find(sums, random.nextDouble() * total));
        }
      }
    };
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
