package dev.millrace.tensor.math.update;

import static dev.millrace.tensor.math.update.Lanes.load;
import static dev.millrace.tensor.math.update.Lanes.store;

import java.lang.foreign.MemorySegment;
import jdk.incubator.vector.FloatVector;

/**
 * Adam with a second moment that never shrinks: {@code vhat = max(vhat, v)} stands below the root.
 */
public final class AmsgradRule extends UpdateRule {
  private final double rate;
  private final double beta1;
  private final double beta2;
  private final double epsilon;

  public AmsgradRule(double rate, double beta1, double beta2, double epsilon) {
    this.rate = rate;
    this.beta1 = beta1;
    this.beta2 = beta2;
    this.epsilon = epsilon;
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
    double[] vhat = s[3];
    for (int i = 0; i < n; i++) {
      m[i] += (g[i] - m[i]) * (1 - beta1);
      v[i] += (g[i] * g[i] - v[i]) * (1 - beta2);
      vhat[i] = raise(vhat[i], v[i]);
      var[i] -= rate * m[i] / (Math.sqrt(vhat[i]) + epsilon);
    }
  }

  /** The loop over vectors: apart, as it can be linked only where there is the Vector API. */
  private final class Vectors {
    void floats(MemorySegment[] s, long at, MemorySegment g, long gAt, long bytes) {
      MemorySegment var = s[0];
      MemorySegment m = s[1];
      MemorySegment v = s[2];
      MemorySegment vhat = s[3];
      float lr = (float) rate;
      float b1 = (float) beta1;
      float b2 = (float) beta2;
      float eps = (float) epsilon;
      for (long i = 0; i < bytes; i += Lanes.BYTES) {
        FloatVector grad = load(g, gAt + i);
        FloatVector m1 = load(m, at + i);
        m1 = store(grad.sub(m1).mul(1 - b1).add(m1), m, at + i);
        FloatVector v1 = load(v, at + i);
        v1 = store(grad.mul(grad).sub(v1).mul(1 - b2).add(v1), v, at + i);
        FloatVector top = store(Lanes.raise(load(vhat, at + i), v1), vhat, at + i);
        store(load(var, at + i).sub(m1.mul(lr).div(top.sqrt().add(eps))), var, at + i);
      }
    }
  }
}
