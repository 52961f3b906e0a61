package dev.millrace.tensor.math.update;

import static dev.millrace.tensor.math.update.Lanes.load;
import static dev.millrace.tensor.math.update.Lanes.store;

import java.lang.foreign.MemorySegment;
import jdk.incubator.vector.FloatVector;

/**
 * A step in the units of the variable: the recent root mean square of its changes over that of its
 * gradients, {@code sqrt(updates + epsilon) / sqrt(accum + epsilon) * grad}.
 */
public final class AdadeltaRule extends UpdateRule {
  private final double rate;
  private final double rho;
  private final double epsilon;

  public AdadeltaRule(double rate, double rho, double epsilon) {
    this.rate = rate;
    this.rho = rho;
    this.epsilon = epsilon;
  }

  @Override
  void floats(MemorySegment[] s, long at, MemorySegment g, long gAt, long bytes) {
    new Vectors().floats(s, at, g, gAt, bytes);
  }

  @Override
  void plain(double[][] s, double[] g, int n) {
    double[] var = s[0];
    double[] accum = s[1];
    double[] updates = s[2];
    for (int i = 0; i < n; i++) {
      accum[i] = accum[i] * rho + g[i] * g[i] * (1 - rho);
      double step = Math.sqrt(updates[i] + epsilon) / Math.sqrt(accum[i] + epsilon) * g[i];
      var[i] -= rate * step;
      updates[i] = updates[i] * rho + step * step * (1 - rho);
    }
  }

  /** The loop over vectors: apart, as it can be linked only where there is the Vector API. */
  private final class Vectors {
    void floats(MemorySegment[] s, long at, MemorySegment g, long gAt, long bytes) {
      MemorySegment var = s[0];
      MemorySegment accum = s[1];
      MemorySegment updates = s[2];
      float lr = (float) rate;
      float decay = (float) rho;
      float eps = (float) epsilon;
      for (long i = 0; i < bytes; i += Lanes.BYTES) {
        FloatVector grad = load(g, gAt + i);
        FloatVector a = load(accum, at + i).mul(decay).add(grad.mul(grad).mul(1 - decay));
        store(a, accum, at + i);
        FloatVector u = load(updates, at + i);
        FloatVector step = u.add(eps).sqrt().div(a.add(eps).sqrt()).mul(grad);
        store(load(var, at + i).sub(step.mul(lr)), var, at + i);
        store(u.mul(decay).add(step.mul(step).mul(1 - decay)), updates, at + i);
      }
    }
  }
}
