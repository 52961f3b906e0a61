package dev.millrace.tensor.math;

import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * What an optimizer does to a variable and its slots, element by element, given a gradient: one
 * pass over the memory, whatever the rule. A rule is made anew for every step, as its rates are
 * tensors that may change.
 *
 * <p>Each rule says what it does twice: over vectors of floats, and as a plain loop over doubles,
 * which defines it and serves the other types and the ends of the float loop.
 */
public abstract class Update {
  /** Elements that pass through the plain loop at a time. */
  private static final int BLOCK = 512;

  private static final long GRAIN = 1 << 14;

  /** How many floats the vector loop handles at a time; its ranges are multiples of this. */
  protected static final int LANES = Lanes.COUNT;

  Update() {}

  /**
   * Applies the rule to all elements of floats. {@code s} are the variable and its slots, each from
   * byte {@code at}; {@code g} the gradient from byte {@code gAt}; {@code bytes} long, a multiple
   * of the vectors'.
   */
  abstract void floats(MemorySegment[] s, long at, MemorySegment g, long gAt, long bytes);

  /** Applies the rule to the first {@code n} elements of each. */
  abstract void plain(double[][] s, double[] g, int n);

  /** Applies the rule to all elements; all tensors have the same type and number of elements. */
  public final void apply(Tensor[] state, Tensor grad) {
    Parallel.run(grad.elements(), GRAIN, (from, to) -> apply(state, from, grad, from, to - from));
  }

  /**
   * Applies the rule to {@code n} elements of the variable and its slots from element {@code at},
   * and of the gradient from {@code gradAt}. Runs on the calling thread.
   */
  public void apply(Tensor[] state, long at, Tensor grad, long gradAt, long n) {
    long done = 0;
    if (grad.dtype() == DType.FLOAT) {
      done = n - n % LANES;
      MemorySegment[] s = new MemorySegment[state.length];
      for (int i = 0; i < s.length; i++) {
        s[i] = state[i].data();
      }
      floats(s, at * 4, grad.data(), gradAt * 4, done * 4);
    }
    if (done < n) {
      int block = (int) Math.min(BLOCK, n - done);
      double[][] s = new double[state.length][block];
      double[] g = new double[block];
      for (; done < n; done += block) {
        int k = (int) Math.min(block, n - done);
        for (int i = 0; i < s.length; i++) {
          load(state[i], at + done, s[i], k);
        }
        load(grad, gradAt + done, g, k);
        plain(s, g, k);
        for (int i = 0; i < s.length; i++) {
          store(state[i], at + done, s[i], k);
        }
      }
    }
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
    if (t.dtype() == DType.DOUBLE) {
      MemorySegment.copy(from, 0, t.data(), ValueLayout.JAVA_DOUBLE_UNALIGNED, at * 8, n);
    } else {
      for (int i = 0; i < n; i++) {
        t.setDouble(at + i, from[i]);
      }
    }
  }
}
