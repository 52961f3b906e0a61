package dev.millrace.tensor.math;

import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;
import java.util.function.DoubleBinaryOperator;
import java.util.function.DoubleUnaryOperator;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/**
 * The nonlinearities of neural nets and their gradients, element by element. Each is defined by its
 * formula in doubles; the common ones have a vector loop over floats beside it. All may work in
 * place.
 */
public enum Activation {
  /** {@code max(x, 0)}; its gradient is that of the inputs above zero. NaN stays NaN. */
  RELU(x -> x < 0 ? 0 : x, (dy, x) -> x > 0 ? dy : 0),
  /** {@code min(max(x, 0), 6)}. */
  RELU6(x -> x < 0 ? 0 : x > 6 ? 6 : x, (dy, x) -> x > 0 && x < 6 ? dy : 0),
  /** {@code exp(x) - 1} below zero; the gradient is a function of the result. */
  ELU(x -> x < 0 ? Math.expm1(x) : x, (dy, y) -> y < 0 ? dy * (y + 1) : dy),
  /** Scaled {@link #ELU}; the gradient is a function of the result. */
  SELU(
      x -> x < 0 ? Activation.SCALE_ALPHA * Math.expm1(x) : Activation.SCALE * x,
      (dy, y) -> y < 0 ? dy * (y + Activation.SCALE_ALPHA) : dy * Activation.SCALE),
  /** {@code log(1 + exp(x))}. */
  SOFTPLUS(x -> x > 30 ? x : Math.log1p(Math.exp(x)), (dy, x) -> dy / (1 + Math.exp(-x))),
  /** {@code x / (1 + |x|)}. */
  SOFTSIGN(x -> x / (1 + Math.abs(x)), (dy, x) -> dy / ((1 + Math.abs(x)) * (1 + Math.abs(x))));

  private static final double SCALE = 1.0507009873554805;
  private static final double SCALE_ALPHA = 1.7580993408473768;

  private static final VectorSpecies<Float> S = FloatVector.SPECIES_PREFERRED;
  private static final int L = S.length();
  private static final ByteOrder LE = ByteOrder.LITTLE_ENDIAN;
  private static final long GRAIN = 1 << 15;

  private final DoubleUnaryOperator forward;
  private final DoubleBinaryOperator backward;

  Activation(DoubleUnaryOperator forward, DoubleBinaryOperator backward) {
    this.forward = forward;
    this.backward = backward;
  }

  /** Sets {@code y} to this function of {@code x}. */
  public void apply(Tensor x, Tensor y) {
    boolean vector = x.dtype() == DType.FLOAT;
    Parallel.run(
        x.elements(),
        GRAIN,
        (from, to) -> {
          long i = vector ? vectors(x.data(), y.data(), from, to) : from;
          for (; i < to; i++) {
            y.setDouble(i, forward.applyAsDouble(x.doubleAt(i)));
          }
        });
  }

  /**
   * Sets {@code dx} to the gradient of the input, given that of the output and the input (for
   * {@link #ELU} and {@link #SELU}: the output).
   */
  public void gradient(Tensor dy, Tensor x, Tensor dx) {
    boolean vector = x.dtype() == DType.FLOAT;
    Parallel.run(
        x.elements(),
        GRAIN,
        (from, to) -> {
          long i = vector ? vectors(dy.data(), x.data(), dx.data(), from, to) : from;
          for (; i < to; i++) {
            dx.setDouble(i, backward.applyAsDouble(dy.doubleAt(i), x.doubleAt(i)));
          }
        });
  }

  /** Applies whole vectors as far as there is a loop for it; says where it stopped. */
  private long vectors(MemorySegment x, MemorySegment y, long from, long to) {
    long end = to - (to - from) % L;
    switch (this) {
      case RELU -> {
        for (long i = from; i < end; i += L) {
          FloatVector v = FloatVector.fromMemorySegment(S, x, 4 * i, LE);
          v.blend(0f, v.compare(VectorOperators.LT, 0f)).intoMemorySegment(y, 4 * i, LE);
        }
      }
      case RELU6 -> {
        for (long i = from; i < end; i += L) {
          FloatVector v = FloatVector.fromMemorySegment(S, x, 4 * i, LE);
          v.blend(0f, v.compare(VectorOperators.LT, 0f))
              .blend(6f, v.compare(VectorOperators.GT, 6f))
              .intoMemorySegment(y, 4 * i, LE);
        }
      }
      case ELU -> {
        for (long i = from; i < end; i += L) {
          FloatVector v = FloatVector.fromMemorySegment(S, x, 4 * i, LE);
          v.blend(v.lanewise(VectorOperators.EXPM1), v.compare(VectorOperators.LT, 0f))
              .intoMemorySegment(y, 4 * i, LE);
        }
      }
      default -> {
        return from;
      }
    }
    return end;
  }

  private long vectors(MemorySegment dy, MemorySegment x, MemorySegment dx, long from, long to) {
    long end = to - (to - from) % L;
    switch (this) {
      case RELU -> {
        for (long i = from; i < end; i += L) {
          FloatVector v = FloatVector.fromMemorySegment(S, x, 4 * i, LE);
          FloatVector g = FloatVector.fromMemorySegment(S, dy, 4 * i, LE);
          FloatVector.zero(S)
              .blend(g, v.compare(VectorOperators.GT, 0f))
              .intoMemorySegment(dx, 4 * i, LE);
        }
      }
      case RELU6 -> {
        for (long i = from; i < end; i += L) {
          FloatVector v = FloatVector.fromMemorySegment(S, x, 4 * i, LE);
          FloatVector g = FloatVector.fromMemorySegment(S, dy, 4 * i, LE);
          FloatVector.zero(S)
              .blend(g, v.compare(VectorOperators.GT, 0f).and(v.compare(VectorOperators.LT, 6f)))
              .intoMemorySegment(dx, 4 * i, LE);
        }
      }
      case ELU -> {
        for (long i = from; i < end; i += L) {
          FloatVector v = FloatVector.fromMemorySegment(S, x, 4 * i, LE);
          FloatVector g = FloatVector.fromMemorySegment(S, dy, 4 * i, LE);
          g.blend(g.mul(v.add(1f)), v.compare(VectorOperators.LT, 0f))
              .intoMemorySegment(dx, 4 * i, LE);
        }
      }
      default -> {
        return from;
      }
    }
    return end;
  }
}
