package dev.millrace.tensor.math.update;

import static dev.millrace.tensor.math.update.Lanes.load;
import static dev.millrace.tensor.math.update.Lanes.store;

import java.lang.foreign.MemorySegment;
import jdk.incubator.vector.FloatVector;

/**
 * Adagrad followed by a step towards zero: with {@code r = rate / sqrt(accum)}, {@code var =
 * shrink(var - r * grad, r * l1) / (1 + r * l2)}.
 */
public final class ProximalAdagradRule extends UpdateRule {
  private final double rate;
  private final double l1;
  private final double l2;

  public ProximalAdagradRule(double rate, double l1, double l2) {
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
    double[] accum = s[1];
    for (int i = 0; i < n; i++) {
      accum[i] += g[i] * g[i];
      double r = rate / Math.sqrt(accum[i]);
      var[i] = shrink(var[i] - r * g[i], r * l1) / (1 + r * l2);
    }
  }

  /** The loop over vectors: apart, as it can be linked only where there is the Vector API. */
  private final class Vectors {
    void floats(MemorySegment[] s, long at, MemorySegment g, long gAt, long bytes) {
      MemorySegment var = s[0];
      MemorySegment accum = s[1];
      float lr = (float) rate;
      float by = (float) l1;
      float below = (float) l2;
      for (long i = 0; i < bytes; i += Lanes.BYTES) {
        FloatVector grad = load(g, gAt + i);
        FloatVector a = store(load(accum, at + i).add(grad.mul(grad)), accum, at + i);
        FloatVector r = a.broadcast(lr).div(a.sqrt());
        FloatVector p = load(var, at + i).sub(grad.mul(r));
        store(Lanes.shrink(p, r.mul(by)).div(r.mul(below).add(1f)), var, at + i);
      }
    }
  }
}
