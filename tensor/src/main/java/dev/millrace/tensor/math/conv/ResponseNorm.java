package dev.millrace.tensor.math.conv;

import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.Parallel;

/**
 * Local response normalisation over the last dimension of a tensor: {@code y[c] = x[c] / n[c] ^
 * beta} with {@code n[c] = bias + alpha *} the sum of squares from {@code c - radius} to {@code c +
 * radius}.
 */
public final class ResponseNorm {
  private static final long GRAIN = 1 << 12;

  private final int radius;
  private final float bias;
  private final float alpha;
  private final float beta;

  public ResponseNorm(int radius, float bias, float alpha, float beta) {
    this.radius = radius;
    this.bias = bias;
    this.alpha = alpha;
    this.beta = beta;
  }

  /** Sets {@code y} to the normalised {@code x}. */
  public void apply(Tensor x, Tensor y) {
    int depth = depth(x);
    forRows(
        x,
        depth,
        start -> {
          double[] n = norms(x, start, depth);
          for (int c = 0; c < depth; c++) {
            y.setDouble(start + c, x.doubleAt(start + c) * Math.pow(n[c], -beta));
          }
        });
  }

  /** Sets {@code dx} to the gradient of x, given that of y, x and y. */
  public void gradient(Tensor dy, Tensor x, Tensor y, Tensor dx) {
    int depth = depth(x);
    forRows(
        x,
        depth,
        start -> {
          double[] n = norms(x, start, depth);
          for (int k = 0; k < depth; k++) {
            double sum = dy.doubleAt(start + k) * Math.pow(n[k], -beta);
            double shared = 0;
            for (int j = Math.max(0, k - radius);
                j <= (int) Math.min(depth - 1, (long) k + radius);
                j++) {
              shared += dy.doubleAt(start + j) * y.doubleAt(start + j) / n[j];
            }
            dx.setDouble(start + k, sum - 2 * alpha * beta * x.doubleAt(start + k) * shared);
          }
        });
  }

  private double[] norms(Tensor x, long start, int depth) {
    double[] sums = new double[depth + 1];
    for (int c = 0; c < depth; c++) {
      double v = x.doubleAt(start + c);
      sums[c + 1] = sums[c] + v * v;
    }
    double[] n = new double[depth];
    for (int c = 0; c < depth; c++) {
      int to = (int) Math.min(depth, (long) c + radius + 1);
      n[c] = bias + alpha * (sums[to] - sums[Math.max(0, c - radius)]);
    }
    return n;
  }

  private static int depth(Tensor x) {
    return Math.toIntExact(x.shape().dim(-1));
  }

  /** What is done with the row that begins at some element. */
  private interface Row {
    void at(long start);
  }

  private static void forRows(Tensor x, int depth, Row row) {
    if (x.elements() == 0) {
      return;
    }
    Parallel.run(
        x.elements() / depth,
        Math.max(1, GRAIN / depth),
        (from, to) -> {
          for (long r = from; r < to; r++) {
            row.at(r * depth);
          }
        });
  }
}
