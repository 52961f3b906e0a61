package dev.millrace.ops.random;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.ops.array.Axis;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.random.Philox;
import java.util.List;

/**
 * Numbers of normal distributions cut off below and above. The first dimension of the result says
 * which distribution; each parameter is a scalar or has one value for each.
 */
public final class ParameterizedTruncatedNormal {
  public static final Op OP =
      Op.define("ParameterizedTruncatedNormal")
          .attr("seed: int = 0")
          .attr("seed2: int = 0")
          .attr("dtype: {half, bfloat16, float, double}")
          .attr("T: {int32, int64}")
          .input("shape: T")
          .input("means: dtype")
          .input("stdevs: dtype")
          .input("minvals: dtype")
          .input("maxvals: dtype")
          .output("output: dtype")
          .stateful()
          .shape(
              c -> {
                c.inputOfRank(0, 1);
                return List.of(c.constantAsShape(0));
              })
          .kernelPerNode(ParameterizedTruncatedNormal::kernel)
          .noGradient("random numbers depend on nothing but the seed")
          .build();

  /** How many numbers are drawn together where all have the same distribution. */
  private static final long BATCH = 100;

  private static final long MAX_TRIES = 1000;
  private static final String[] NAMES = {"means", "stdevs", "minvals", "maxvals"};

  private ParameterizedTruncatedNormal() {}

  private static Kernel kernel(Node node) {
    SeededState state = new SeededState(node);
    return c -> {
      Shape s = Axis.shape(c.input(0));
      if (s.rank() < 1) {
        throw MillraceException.invalid("Shape tensor must not be empty, got %s", s);
      }
      Tensor y = c.allocate(0, s);
      long n = s.elements();
      if (n == 0) {
        return;
      }
      long batches = s.dim(0);
      boolean same = true;
      for (int i = 1; i <= 4; i++) {
        Shape p = c.input(i).shape();
        if (p.rank() > 1 || (p.elements() != 1 && p.elements() != batches)) {
          throw MillraceException.invalid(
              "%s must be a scalar or a vector of %d elements, the first dimension of the shape;"
                  + " it has shape %s.",
              NAMES[i - 1], batches, p);
        }
        same &= p.elements() == 1;
      }
      long each = n / batches;
      if (same) {
        each = BATCH;
        batches = (n + BATCH - 1) / BATCH;
      }
      Philox part = state.take(batches * 2 * MAX_TRIES * (each + 3) / 4);
      TruncatedSampler sampler = new TruncatedSampler(part.cursor(), y);
      for (long b = 0; b < batches; b++) {
        double[] p = new double[4];
        for (int i = 0; i < 4; i++) {
          Tensor t = c.input(i + 1);
          p[i] = t.doubleAt(t.elements() == 1 ? 0 : b);
        }
        sampler.fill(b * each, Math.min(n, (b + 1) * each), p[0], p[1], p[2], p[3]);
      }
    };
  }
}
