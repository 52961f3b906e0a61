package dev.millrace.tensor.math.update;

import static dev.millrace.tensor.math.update.Lanes.load;
import static dev.millrace.tensor.math.update.Lanes.store;

import java.lang.foreign.MemorySegment;
import jdk.incubator.vector.FloatVector;

/**
 * Gradient descent with inertia: {@code accum = accum * momentum + grad; var -= rate * accum}. With
 * Nesterov's look ahead the variable moves by {@code rate * (grad + momentum * accum)}.
 */
public final class MomentumRule extends UpdateRule {
  private final double rate;
  private final double momentum;
  private final boolean nesterov;

  public MomentumRule(double rate, double momentum, boolean nesterov) {
    this.rate = rate;
    this.momentum = momentum;
    this.nesterov = nesterov;
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
      accum[i] = accum[i] * momentum + g[i];
      var[i] -= rate * (nesterov ? g[i] + momentum * accum[i] : accum[i]);
    }
  }

  /** The loop over vectors: apart, as it can be linked only where there is the Vector API. */
  private final class Vectors {
    void floats(MemorySegment[] s, long at, MemorySegment g, long gAt, long bytes) {
      MemorySegment var = s[0];
      MemorySegment accum = s[1];
      float lr = (float) rate;
      float mu = (float) momentum;
      float ofAccum = nesterov ? lr * mu : lr;
      for (long i = 0; i < bytes; i += Lanes.BYTES) {
        FloatVector grad = load(g, gAt + i);
        FloatVector a = store(load(accum, at + i).mul(mu).add(grad), accum, at + i);
        FloatVector step = a.mul(ofAccum);
        step = nesterov ? step.add(grad.mul(lr)) : step;
        store(load(var, at + i).sub(step), var, at + i);
      }
    }
  }
}
