package dev.millrace.tensor.math.update;

import static dev.millrace.tensor.math.update.Lanes.load;
import static dev.millrace.tensor.math.update.Lanes.store;

import java.lang.foreign.MemorySegment;
import jdk.incubator.vector.FloatVector;

/**
 * A rate that falls with the squares seen so far: {@code accum += grad^2; var -= rate * grad /
 * (sqrt(accum) + epsilon)}. The squares are left as they are unless {@code updateSlots}.
 */
public final class AdagradRule extends UpdateRule {
  private final double rate;
  private final double epsilon;
  private final boolean updateSlots;

  public AdagradRule(double rate, double epsilon, boolean updateSlots) {
    this.rate = rate;
    this.epsilon = epsilon;
    this.updateSlots = updateSlots;
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
      if (updateSlots) {
        accum[i] += g[i] * g[i];
      }
      var[i] -= rate * g[i] / (Math.sqrt(accum[i]) + epsilon);
    }
  }

  /** The loop over vectors: apart, as it can be linked only where there is the Vector API. */
  private final class Vectors {
    void floats(MemorySegment[] s, long at, MemorySegment g, long gAt, long bytes) {
      MemorySegment var = s[0];
      MemorySegment accum = s[1];
      float lr = (float) rate;
      float eps = (float) epsilon;
      if (updateSlots) {
        for (long i = 0; i < bytes; i += Lanes.BYTES) {
          FloatVector grad = load(g, gAt + i);
          store(load(accum, at + i).add(grad.mul(grad)), accum, at + i);
        }
      }
      for (long i = 0; i < bytes; i += Lanes.BYTES) {
        FloatVector below = load(accum, at + i).sqrt().add(eps);
        store(load(var, at + i).sub(load(g, gAt + i).mul(lr).div(below)), var, at + i);
      }
    }
  }
}
