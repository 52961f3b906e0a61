package dev.millrace.tensor.math.update;

import static dev.millrace.tensor.math.update.Lanes.load;
import static dev.millrace.tensor.math.update.Lanes.store;

import java.lang.foreign.MemorySegment;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorOperators;

/**
 * Descent that is faster where the gradient agrees in sign with its recent mean: {@code m = m *
 * beta + grad * (1 - beta); var -= rate * grad} times a factor for agreement, for disagreement, or
 * for either being zero. AddSign and PowerSign differ in the factors.
 */
public final class SignDescentRule extends UpdateRule {
  private final double rate;
  private final double beta;
  private final double agreeing;
  private final double neutral;
  private final double opposed;

  public SignDescentRule(
      double rate, double beta, double agreeing, double neutral, double opposed) {
    this.rate = rate;
    this.beta = beta;
    this.agreeing = agreeing;
    this.neutral = neutral;
    this.opposed = opposed;
  }

  @Override
  void floats(MemorySegment[] s, long at, MemorySegment g, long gAt, long bytes) {
    new Vectors().floats(s, at, g, gAt, bytes);
  }

  @Override
  void plain(double[][] s, double[] g, int n) {
    double[] var = s[0];
    double[] m = s[1];
    for (int i = 0; i < n; i++) {
      m[i] = m[i] * beta + g[i] * (1 - beta);
      double agreement = Math.signum(m[i]) * Math.signum(g[i]);
      double factor = agreement > 0 ? agreeing : agreement < 0 ? opposed : neutral;
      var[i] -= rate * g[i] * (Double.isNaN(agreement) ? agreement : factor);
    }
  }

  /** The loop over vectors: apart, as it can be linked only where there is the Vector API. */
  private final class Vectors {
    void floats(MemorySegment[] s, long at, MemorySegment g, long gAt, long bytes) {
      MemorySegment var = s[0];
      MemorySegment m = s[1];
      float b = (float) beta;
      float same = (float) (rate * agreeing);
      float zero = (float) (rate * neutral);
      float other = (float) (rate * opposed);
      for (long i = 0; i < bytes; i += Lanes.BYTES) {
        FloatVector grad = load(g, gAt + i);
        FloatVector m1 = load(m, at + i).mul(b).add(grad.mul(1 - b));
        store(m1, m, at + i);
        FloatVector rate1 =
            m1.broadcast(same)
                .blend(zero, m1.eq(0f).or(grad.eq(0f)))
                .blend(other, m1.lt(0f).xor(grad.lt(0f)).andNot(m1.eq(0f).or(grad.eq(0f))))
                // A moment that is no number has no sign.
                .blend(m1, m1.test(VectorOperators.IS_NAN));
        store(load(var, at + i).sub(grad.mul(rate1)), var, at + i);
      }
    }
  }
}
