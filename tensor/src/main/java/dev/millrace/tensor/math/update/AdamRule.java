package dev.millrace.tensor.math.update;

import static dev.millrace.tensor.math.update.Lanes.load;
import static dev.millrace.tensor.math.update.Lanes.store;

import java.lang.foreign.MemorySegment;
import jdk.incubator.vector.FloatVector;

/**
 * Adaptive moments: {@code m} and {@code v} follow the gradient and its square, {@code var -= rate
 * * m / (sqrt(v) + epsilon)}. The rate is already corrected for the start of both moments. With
 * Nesterov's look ahead {@code beta1 * m + (1 - beta1) * grad} stands for {@code m}.
 */
public final class AdamRule extends UpdateRule {
  private final double rate;
  private final double beta1;
  private final double beta2;
  private final double epsilon;
  private final boolean nesterov;

  public AdamRule(double rate, double beta1, double beta2, double epsilon, boolean nesterov) {
    this.rate = rate;
    this.beta1 = beta1;
    this.beta2 = beta2;
    this.epsilon = epsilon;
    this.nesterov = nesterov;
  }

  @Override
  void floats(MemorySegment[] s, long at, MemorySegment g, long gAt, long bytes) {
    new Vectors().floats(s, at, g, gAt, bytes);
  }

  @Override
  void plain(double[][] s, double[] g, int n) {
    double[] var = s[0];
    double[] m = s[1];
    double[] v = s[2];
    for (int i = 0; i < n; i++) {
      m[i] += (g[i] - m[i]) * (1 - beta1);
      v[i] += (g[i] * g[i] - v[i]) * (1 - beta2);
      double top = nesterov ? m[i] * beta1 + g[i] * (1 - beta1) : m[i];
      var[i] -= rate * top / (Math.sqrt(v[i]) + epsilon);
    }
  }

  /** The loop over vectors: apart, as it can be linked only where there is the Vector API. */
  private final class Vectors {
    void floats(MemorySegment[] s, long at, MemorySegment g, long gAt, long bytes) {
      MemorySegment var = s[0];
      MemorySegment m = s[1];
      MemorySegment v = s[2];
      float lr = (float) rate;
      float b1 = (float) beta1;
      float b2 = (float) beta2;
      float eps = (float) epsilon;
      float ofMoment = nesterov ? b1 : 1;
      float ofGrad = nesterov ? 1 - b1 : 0;
      for (long i = 0; i < bytes; i += Lanes.BYTES) {
        FloatVector grad = load(g, gAt + i);
        FloatVector m1 = load(m, at + i);
        m1 = store(grad.sub(m1).mul(1 - b1).add(m1), m, at + i);
        FloatVector v1 = load(v, at + i);
        v1 = store(grad.mul(grad).sub(v1).mul(1 - b2).add(v1), v, at + i);
        FloatVector top = m1.mul(ofMoment).add(grad.mul(ofGrad));
        store(load(var, at + i).sub(top.mul(lr).div(v1.sqrt().add(eps))), var, at + i);
      }
    }
  }
}
