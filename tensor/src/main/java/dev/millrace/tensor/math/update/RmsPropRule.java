package dev.millrace.tensor.math.update;

import static dev.millrace.tensor.math.update.Lanes.load;
import static dev.millrace.tensor.math.update.Lanes.store;

import java.lang.foreign.MemorySegment;
import jdk.incubator.vector.FloatVector;

/**
 * Gradients divided by the root of their recent mean square: {@code ms += (grad^2 - ms) * (1 -
 * rho); mom = mom * momentum + rate * grad / sqrt(ms + epsilon); var -= mom}.
 */
public final class RmsPropRule extends UpdateRule {
  private final double rate;
  private final double rho;
  private final double momentum;
  private final double epsilon;

  public RmsPropRule(double rate, double rho, double momentum, double epsilon) {
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
    double[] ms = s[1];
    double[] mom = s[2];
    for (int i = 0; i < n; i++) {
      ms[i] += (g[i] * g[i] - ms[i]) * (1 - rho);
      mom[i] = mom[i] * momentum + rate * g[i] / Math.sqrt(ms[i] + epsilon);
      var[i] -= mom[i];
    }
  }

  /** The loop over vectors: apart, as it can be linked only where there is the Vector API. */
  private final class Vectors {
    void floats(MemorySegment[] s, long at, MemorySegment g, long gAt, long bytes) {
      MemorySegment var = s[0];
      MemorySegment ms = s[1];
      MemorySegment mom = s[2];
      float lr = (float) rate;
      float decay = (float) rho;
      float mu = (float) momentum;
      float eps = (float) epsilon;
      for (long i = 0; i < bytes; i += Lanes.BYTES) {
        FloatVector grad = load(g, gAt + i);
        FloatVector s1 = load(ms, at + i);
        s1 = store(grad.mul(grad).sub(s1).mul(1 - decay).add(s1), ms, at + i);
        FloatVector step = grad.mul(lr).div(s1.add(eps).sqrt());
        step = store(load(mom, at + i).mul(mu).add(step), mom, at + i);
        store(load(var, at + i).sub(step), var, at + i);
      }
    }
  }
}
