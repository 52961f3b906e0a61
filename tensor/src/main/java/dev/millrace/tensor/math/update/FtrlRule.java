package dev.millrace.tensor.math.update;

import static dev.millrace.tensor.math.update.Lanes.load;
import static dev.millrace.tensor.math.update.Lanes.store;

import java.lang.foreign.MemorySegment;
import jdk.incubator.vector.FloatVector;

/**
 * Follow the regularized leader. With {@code n' = accum + grad^2} and {@code p = -power}: {@code
 * linear += grad + 2 * shrinkage * var - (n'^p - accum^p) / rate * var; var = -shrink(linear, l1) /
 * (n'^p / rate + 2 * l2); accum = n'}. With {@code linearTimesRate} the slot {@code linear} holds
 * {@code rate} times as much, and so do the terms it is compared with.
 */
public final class FtrlRule extends UpdateRule {
  private final double rate;
  private final double l1;
  private final double l2;
  private final double shrinkage;
  private final double power;
  private final boolean linearTimesRate;

  public FtrlRule(
      double rate, double l1, double l2, double shrinkage, double power, boolean linearTimesRate) {
    this.rate = rate;
    this.l1 = Math.max(l1, 0);
    this.l2 = l2;
    this.shrinkage = shrinkage;
    this.power = power;
    this.linearTimesRate = linearTimesRate;
  }

  @Override
  void floats(MemorySegment[] s, long at, MemorySegment g, long gAt, long bytes) {
    new Vectors().floats(s, at, g, gAt, bytes);
  }

  @Override
  void plain(double[][] s, double[] g, int n) {
    double[] var = s[0];
    double[] accum = s[1];
    double[] linear = s[2];
    for (int i = 0; i < n; i++) {
      double before = Math.pow(accum[i], -power);
      accum[i] += g[i] * g[i];
      double after = Math.pow(accum[i], -power);
      double inverse = linearTimesRate ? 1 : 1 / rate;
      double scale = linearTimesRate ? rate : 1;
      linear[i] += scale * (g[i] + 2 * shrinkage * var[i]) - (after - before) * inverse * var[i];
      var[i] = 0 - shrink(linear[i], l1 * scale) / (after * inverse + 2 * l2 * scale);
    }
  }

  /** Of the powers only the usual one, the square root, is worth a vector loop. */
  @Override
  boolean hasVectorLoop() {
    return power == -0.5;
  }

  /** The loop over vectors: apart, as it can be linked only where there is the Vector API. */
  private final class Vectors {
    void floats(MemorySegment[] s, long at, MemorySegment g, long gAt, long bytes) {
      MemorySegment var = s[0];
      MemorySegment accum = s[1];
      MemorySegment linear = s[2];
      float inverse = linearTimesRate ? 1 : (float) (1 / rate);
      float scale = linearTimesRate ? (float) rate : 1;
      float by = (float) l1 * scale;
      float below2 = (float) (2 * l2) * scale;
      float shrink2 = (float) (2 * shrinkage);
      for (long i = 0; i < bytes; i += Lanes.BYTES) {
        FloatVector grad = load(g, gAt + i);
        FloatVector w = load(var, at + i);
        FloatVector n0 = load(accum, at + i);
        FloatVector n1 = store(grad.mul(grad).add(n0), accum, at + i);
        FloatVector p1 = n1.sqrt();
        FloatVector pull = p1.sub(n0.sqrt()).mul(inverse).mul(w);
        FloatVector push = w.mul(shrink2).add(grad).mul(scale);
        FloatVector l = store(load(linear, at + i).add(push).sub(pull), linear, at + i);
        FloatVector below = p1.mul(inverse).add(below2);
        store(l.broadcast(0f).sub(Lanes.shrink(l, by)).div(below), var, at + i);
      }
    }
  }
}
