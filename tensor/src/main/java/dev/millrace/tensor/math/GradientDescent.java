package dev.millrace.tensor.math;

import static dev.millrace.tensor.math.Lanes.load;
import static dev.millrace.tensor.math.Lanes.store;

import java.lang.foreign.MemorySegment;

/** {@code var -= rate * grad}. */
public final class GradientDescent extends Update {
  private final double rate;

  public GradientDescent(double rate) {
    this.rate = rate;
  }

  @Override
  void floats(MemorySegment[] s, long at, MemorySegment g, long gAt, long bytes) {
    MemorySegment var = s[0];
    float lr = (float) rate;
    for (long i = 0; i < bytes; i += Lanes.BYTES) {
      store(load(var, at + i).sub(load(g, gAt + i).mul(lr)), var, at + i);
    }
  }

  @Override
  void plain(double[][] s, double[] g, int n) {
    double[] var = s[0];
    for (int i = 0; i < n; i++) {
      var[i] -= rate * g[i];
    }
  }
}
