package dev.millrace.tensor.math.update;

import static dev.millrace.tensor.math.update.Lanes.load;
import static dev.millrace.tensor.math.update.Lanes.store;

import java.lang.foreign.MemorySegment;
import jdk.incubator.vector.FloatVector;

/**
 * Gradient descent followed by a step towards zero: {@code var = shrink(var - rate * grad, rate *
 * l1) / (1 + rate * l2)}.
 */
public final class ProximalGradientDescentRule extends UpdateRule {
  private final double rate;
  private final double l1;
  private final double l2;

  public ProximalGradientDescentRule(double rate, double l1, double l2) {
    this.rate = rate;
    this.l1 = Math.max(l1, 0);
    this.l2 = l2;
  }

  @Override
  void floats(MemorySegment[] s, long at, MemorySegment g, long gAt, long bytes) {
    new Vectors().floats(s, at, g, gAt, bytes);
  }

  @Override
  void plain(double[][] s, double[] g, int n) {
    double[] var = s[0];
    for (int i = 0; i < n; i++) {
      var[i] = shrink(var[i] - rate * g[i], rate * l1) / (1 + rate * l2);
    }
  }

  /** The loop over vectors: apart, as it can be linked only where there is the Vector API. */
  private final class Vectors {
    void floats(MemorySegment[] s, long at, MemorySegment g, long gAt, long bytes) {
      MemorySegment var = s[0];
      float lr = (float) rate;
      float by = (float) (rate * l1);
      float below = (float) (1 + rate * l2);
      for (long i = 0; i < bytes; i += Lanes.BYTES) {
        FloatVector grad = load(g, gAt + i);
        FloatVector p = load(var, at + i).sub(grad.mul(lr));
        store(Lanes.shrink(p, by).div(below), var, at + i);
      }
    }
  }
}
