package dev.millrace.tensor.math.update;

import static dev.millrace.tensor.math.update.Lanes.load;
import static dev.millrace.tensor.math.update.Lanes.store;

import java.lang.foreign.MemorySegment;
import jdk.incubator.vector.FloatVector;

/**
 * Momentum as Keras writes it, with the rate inside the accumulator: {@code accum = accum *
 * momentum - rate * grad; var += accum}, or with Nesterov's look ahead {@code var += momentum *
 * accum - rate * grad}.
 */
public final class KerasMomentumRule extends UpdateRule {
  private final double rate;
  private final double momentum;
  private final boolean nesterov;

  public KerasMomentumRule(double rate, double momentum, boolean nesterov) {
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
      accum[i] = accum[i] * momentum - rate * g[i];
      var[i] += nesterov ? momentum * accum[i] - rate * g[i] : accum[i];
    }
  }

  /** The loop over vectors: apart, as it can be linked only where there is the Vector API. */
  private final class Vectors {
    void floats(MemorySegment[] s, long at, MemorySegment g, long gAt, long bytes) {
      MemorySegment var = s[0];
      MemorySegment accum = s[1];
      float lr = (float) rate;
      float mu = (float) momentum;
      for (long i = 0; i < bytes; i += Lanes.BYTES) {
        FloatVector grad = load(g, gAt + i);
        FloatVector a = store(load(accum, at + i).mul(mu).sub(grad.mul(lr)), accum, at + i);
        FloatVector step = nesterov ? a.mul(mu).sub(grad.mul(lr)) : a;
        store(load(var, at + i).add(step), var, at + i);
      }
    }
  }
}
