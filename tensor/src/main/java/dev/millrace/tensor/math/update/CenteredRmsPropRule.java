package dev.millrace.tensor.math.update;

import static dev.millrace.tensor.math.update.Lanes.load;
import static dev.millrace.tensor.math.update.Lanes.store;

import java.lang.foreign.MemorySegment;
import jdk.incubator.vector.FloatVector;

/**
 * RMSProp with the variance of the gradient instead of its mean square: {@code ms - mg^2}, where
 * {@code mg} follows the gradient as {@code ms} does its square.
 */
public final class CenteredRmsPropRule extends UpdateRule {
  private final double rate;
  private final double rho;
  private final double momentum;
  private final double epsilon;

  public CenteredRmsPropRule(double rate, double rho, double momentum, double epsilon) {
    this.rate = rate;
    this.rho = rho;
    this.momentum = momentum;
    this.epsilon = epsilon;
  }

  @Override
  void floats(MemorySegment[] s, long at, MemorySegment g, long gAt, long bytes) {
    new Vectors().floats(s, at, g, gAt, bytes);
  }

  @Override
  void plain(double[][] s, double[] g, int n) {
    double[] var = s[0];
    double[] mg = s[1];
    double[] ms = s[2];
    double[] mom = s[3];
    for (int i = 0; i < n; i++) {
      ms[i] += (g[i] * g[i] - ms[i]) * (1 - rho);
      mg[i] += (g[i] - mg[i]) * (1 - rho);
      double variance = ms[i] - mg[i] * mg[i];
      mom[i] = mom[i] * momentum + rate * g[i] / Math.sqrt(variance + epsilon);
      var[i] -= mom[i];
    }
  }

  /** The loop over vectors: apart, as it can be linked only where there is the Vector API. */
  private final class Vectors {
    void floats(MemorySegment[] s, long at, MemorySegment g, long gAt, long bytes) {
      MemorySegment var = s[0];
      MemorySegment mg = s[1];
      MemorySegment ms = s[2];
      MemorySegment mom = s[3];
      float lr = (float) rate;
      float decay = (float) rho;
      float mu = (float) momentum;
      float eps = (float) epsilon;
      for (long i = 0; i < bytes; i += Lanes.BYTES) {
        FloatVector grad = load(g, gAt + i);
        FloatVector s1 = load(ms, at + i);
        s1 = store(grad.mul(grad).sub(s1).mul(1 - decay).add(s1), ms, at + i);
        FloatVector g1 = load(mg, at + i);
        g1 = store(grad.sub(g1).mul(1 - decay).add(g1), mg, at + i);
        FloatVector step = grad.mul(lr).div(s1.sub(g1.mul(g1)).add(eps).sqrt());
        step = store(load(mom, at + i).mul(mu).add(step), mom, at + i);
        store(load(var, at + i).sub(step), var, at + i);
      }
    }
  }
}
