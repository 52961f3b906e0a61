package dev.millrace.tensor.math.update;

import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.VectorModule;
import dev.millrace.tensor.math.Parallel;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * What an optimizer does to a variable and its slots, element by element, given a gradient. A rule
 * is made anew for every step, as its rates are tensors that may change.
 *
 * <p>Each rule says what it does twice: over vectors of floats, and as a plain loop over doubles,
 * which defines it and serves the other types and the ends of the float loop.
 */
public abstract class UpdateRule {
  /** Elements that pass through the plain loop at a time. */
  private static final int BLOCK = 512;

  /**
   * Elements that pass through the vector loop at a time: a loop that is entered often is compiled
   * early.
   */
  private static final int VECTOR_BLOCK = 1024;

  private static final long GRAIN = 1 << 14;

  UpdateRule() {}

  /**
   * Applies the rule to floats. {@code s} are the variable and its slots, each from byte {@code
   * at}; {@code g} is the gradient from byte {@code gAt}; {@code bytes} is a multiple of the
   * vectors' size.
   */
  abstract void floats(MemorySegment[] s, long at, MemorySegment g, long gAt, long bytes);

  /** Whether {@link #floats} can be used for what this rule was made with. */
  boolean hasVectorLoop() {
    return true;
  }

  /** Applies the rule to the first {@code n} elements of each. */
  abstract void plain(double[][] s, double[] g, int n);

  /**
   * Applies the rule to all elements. Variable, slots and gradient have the same type and number of
   * elements.
   */
  public final void apply(Tensor[] state, Tensor grad) {
    Parallel.run(
        grad.elements(), GRAIN, (from, to) -> new Range(state, grad).apply(from, from, to - from));
  }

  /**
   * Applies the rule to some rows, in order: row {@code rows[i]} of the variable and its slots with
   * row {@code i} of the gradient. The caller has checked that the rows exist.
   */
  public final void applyRows(Tensor[] state, Tensor grad, Tensor rows) {
    long n = rows.elements();
    if (grad.elements() == 0) {
      return;
    }
    long width = grad.elements() / n;
    Range range = new Range(state, grad);
    for (long i = 0; i < n; i++) {
      range.apply(rows.longAt(i) * width, i * width, width);
    }
  }

  /** The rule at work on one thread. */
  private final class Range {
    private final Tensor[] state;
    private final Tensor grad;
    private final MemorySegment[] memory;
    private final MemorySegment gradient;
    private double[][] s;
    private double[] g;
    private SingleBlock singles;

    Range(Tensor[] state, Tensor grad) {
      this.state = state;
      this.grad = grad;
      this.gradient = grad.data();
      this.memory = new MemorySegment[state.length];
      for (int i = 0; i < state.length; i++) {
        memory[i] = state[i].data();
      }
    }

    /** {@code n} elements, of the state from element {@code at}, of the gradient from another. */
    void apply(long at, long gradAt, long n) {
      boolean vector = VectorModule.isPresent() && grad.dtype() == DType.FLOAT && hasVectorLoop();
      long vectors = vector ? n - n % Lanes.COUNT : 0;
      for (long done = 0; done < vectors; done += VECTOR_BLOCK) {
        long bytes = Math.min(VECTOR_BLOCK, vectors - done) * 4;
        floats(memory, (at + done) * 4, gradient, (gradAt + done) * 4, bytes);
      }
      for (long done = vectors; done < n; done += BLOCK) {
        block(at + done, gradAt + done, (int) Math.min(BLOCK, n - done));
      }
    }

    private void block(long at, long gradAt, int n) {
      if (g == null || g.length < n) {
        s = new double[state.length][n];
        g = new double[n];
      }
      boolean floats = grad.dtype() == DType.FLOAT;
      if (floats && singles == null) {
        singles = new SingleBlock(BLOCK);
      }
      for (int i = 0; i < s.length; i++) {
        if (floats) {
          singles.load(memory[i], at, s[i], n);
        } else {
          load(state[i], at, s[i], n);
        }
      }
      if (floats) {
        singles.load(gradient, gradAt, g, n);
      } else {
        load(grad, gradAt, g, n);
      }
      plain(s, g, n);
      for (int i = 0; i < s.length; i++) {
        if (floats) {
          singles.store(memory[i], at, s[i], n);
        } else {
          store(state[i], at, s[i], n);
        }
      }
    }
  }

  /** {@code y} where it is above {@code x}, else {@code x}; NaN is above nothing. */
  static double raise(double x, double y) {
    return y > x ? y : x;
  }

  /** {@code x} moved towards zero by {@code by}, and zero if it is no farther away than that. */
  static double shrink(double x, double by) {
    return Math.max(x - by, 0) + Math.min(x + by, 0);
  }

  private static void load(Tensor t, long at, double[] to, int n) {
    if (t.dtype() == DType.DOUBLE) {
      MemorySegment.copy(t.data(), ValueLayout.JAVA_DOUBLE_UNALIGNED, at * 8, to, 0, n);
    } else {
      for (int i = 0; i < n; i++) {
        to[i] = t.doubleAt(at + i);
      }
    }
  }

  private static void store(Tensor t, long at, double[] from, int n) {
    double smallest = t.dtype() == DType.DOUBLE ? Double.MIN_NORMAL : Float.MIN_NORMAL;
    for (int i = 0; i < n; i++) {
      from[i] = Math.abs(from[i]) < smallest ? 0 : from[i];
    }
    if (t.dtype() == DType.DOUBLE) {
      MemorySegment.copy(from, 0, t.data(), ValueLayout.JAVA_DOUBLE_UNALIGNED, at * 8, n);
    } else {
      for (int i = 0; i < n; i++) {
        t.setDouble(at + i, from[i]);
      }
    }
  }
}
