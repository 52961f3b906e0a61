package dev.millrace.tensor.math.update;

import static dev.millrace.tensor.math.update.Lanes.load;
import static dev.millrace.tensor.math.update.Lanes.store;

import java.lang.foreign.MemorySegment;
import jdk.incubator.vector.FloatVector;

/**
 * Adagrad by dual averaging: the variable follows from the sums of all gradients and of their
 * squares alone, {@code var = -rate * shrink(sum, l1 * step) / (l2 * step * rate + sqrt(squares))}.
 */
public final class AdagradDaRule extends UpdateRule {
  private final double rate;
  private final double l1;
  private final double l2;
  private final double step;

  public AdagradDaRule(double rate, double l1, double l2, double step) {
    this.rate = rate;
    this.l1 = Math.max(l1, 0);
    this.l2 = l2;
    this.step = step;
  }

  @Override
  void floats(MemorySegment[] s, long at, MemorySegment g, long gAt, long bytes) {
    new Vectors().floats(s, at, g, gAt, bytes);
  }

  @Override
  void plain(double[][] s, double[] g, int n) {
    double[] var = s[0];
    double[] sum = s[1];
    double[] squares = s[2];
    for (int i = 0; i < n; i++) {
      sum[i] += g[i];
      squares[i] += g[i] * g[i];
      var[i] = -rate * shrink(sum[i], l1 * step) / (l2 * step * rate + Math.sqrt(squares[i]));
    }
  }

  /** The loop over vectors: apart, as it can be linked only where there is the Vector API. */
  private final class Vectors {
    void floats(MemorySegment[] s, long at, MemorySegment g, long gAt, long bytes) {
      MemorySegment var = s[0];
      MemorySegment sum = s[1];
      MemorySegment squares = s[2];
      float lr = (float) rate;
      float by = (float) (l1 * step);
      float below = (float) (l2 * step * rate);
      for (long i = 0; i < bytes; i += Lanes.BYTES) {
        FloatVector grad = load(g, gAt + i);
        FloatVector a = store(load(sum, at + i).add(grad), sum, at + i);
        FloatVector q = store(load(squares, at + i).add(grad.mul(grad)), squares, at + i);
        store(Lanes.shrink(a, by).mul(-lr).div(q.sqrt().add(below)), var, at + i);
      }
    }
  }
}
