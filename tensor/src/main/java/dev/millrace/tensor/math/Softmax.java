package dev.millrace.tensor.math;

import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/**
 * Softmax over the rows of a matrix, its logarithm, and the cross entropy of either with labels.
 * The largest element of each row is subtracted first, so nothing overflows.
 *
 * <p>Exponentials are the expensive part and rows are often short, so they are taken over a block
 * of whole rows at once rather than row by row.
 */
public final class Softmax {
  private static final VectorSpecies<Float> S = FloatVector.SPECIES_PREFERRED;
  private static final int L = S.length();
  private static final ByteOrder LE = ByteOrder.LITTLE_ENDIAN;
  private static final ValueLayout.OfFloat F32 = ValueLayout.JAVA_FLOAT_UNALIGNED;

  /** Elements that stay in the first-level cache between the passes over them. */
  private static final long BLOCK = 2048;

  private static final long GRAIN = 1 << 13;

  private Softmax() {}

  /** A loop over some rows of a matrix. */
  private interface RowLoop {
    void run(long from, long to);
  }

  private static void forRows(long rows, long cols, RowLoop loop) {
    long each = Math.max(1, BLOCK / cols);
    Parallel.run(
        rows,
        Math.max(1, GRAIN / cols),
        (from, to) -> {
          for (long r = from; r < to; r += each) {
            loop.run(r, Math.min(to, r + each));
          }
        });
  }

  /** {@code out[r, c] = exp(x[r, c]) / sum over c of exp(x[r, c])}; may work in place. */
  public static void softmax(Tensor x, Tensor out, long rows, long cols) {
    if (x.elements() == 0) {
      return;
    }
    if (x.dtype() != DType.FLOAT) {
      softmaxScalar(x, out, rows, cols, false);
      return;
    }
    forRows(
        rows,
        cols,
        (from, to) -> {
          shift(x.data(), out.data(), cols, from, to);
          exp(out.data(), from * cols, to * cols);
          for (long r = from; r < to; r++) {
            scale(out.data(), r * cols, cols, 1 / sum(out.data(), r * cols, cols));
          }
        });
  }

  /** The logarithm of {@link #softmax}; {@code out} must not be {@code x}. */
  public static void logSoftmax(Tensor x, Tensor out, long rows, long cols) {
    if (x.elements() == 0) {
      return;
    }
    if (x.dtype() != DType.FLOAT) {
      softmaxScalar(x, out, rows, cols, true);
      return;
    }
    forRows(
        rows,
        cols,
        (from, to) -> {
          shift(x.data(), out.data(), cols, from, to);
          exp(out.data(), from * cols, to * cols);
          for (long r = from; r < to; r++) {
            float max = max(x.data(), r * cols, cols);
            float log = (float) Math.log(sum(out.data(), r * cols, cols));
            subtract(x.data(), out.data(), r * cols, cols, max, log);
          }
        });
  }

  /**
   * Cross entropy with one class per row: {@code loss[r]} and its gradient by the logits. Labels
   * must be within 0 and {@code cols}; {@code backprop} may be {@code x}.
   */
  public static void sparseCrossEntropy(
      Tensor x, Tensor labels, Tensor loss, Tensor backprop, long rows, long cols) {
    if (x.elements() == 0) {
      return;
    }
    if (x.dtype() != DType.FLOAT) {
      sparseCrossEntropyScalar(x, labels, loss, backprop, rows, cols);
      return;
    }
    MemorySegment b = backprop.data();
    MemorySegment l = loss.data();
    forRows(
        rows,
        cols,
        (from, to) -> {
          shift(x.data(), b, cols, from, to);
          for (long r = from; r < to; r++) {
            l.setAtIndex(F32, r, b.getAtIndex(F32, r * cols + labels.longAt(r)));
          }
          exp(b, from * cols, to * cols);
          for (long r = from; r < to; r++) {
            float sum = sum(b, r * cols, cols);
            l.setAtIndex(F32, r, (float) Math.log(sum) - l.getAtIndex(F32, r));
            scale(b, r * cols, cols, 1 / sum);
            long hit = r * cols + labels.longAt(r);
            b.setAtIndex(F32, hit, b.getAtIndex(F32, hit) - 1);
          }
        });
  }

  /**
   * Cross entropy with a distribution per row: {@code loss[r] = -sum(labels * log softmax(x))} and
   * its gradient by the logits. {@code backprop} must not be an input.
   */
  public static void crossEntropy(
      Tensor x, Tensor labels, Tensor loss, Tensor backprop, long rows, long cols) {
    if (x.elements() == 0) {
      loss.data().fill((byte) 0);
      return;
    }
    if (x.dtype() != DType.FLOAT) {
      crossEntropyScalar(x, labels, loss, backprop, rows, cols);
      return;
    }
    MemorySegment in = x.data();
    MemorySegment p = labels.data();
    MemorySegment b = backprop.data();
    forRows(
        rows,
        cols,
        (from, to) -> {
          shift(in, b, cols, from, to);
          exp(b, from * cols, to * cols);
          for (long r = from; r < to; r++) {
            long start = r * cols;
            float sum = sum(b, start, cols);
            float log = (float) Math.log(sum) + max(in, start, cols);
            loss.setDouble(r, crossEntropyRow(in, p, b, start, cols, 1 / sum, log));
          }
        });
  }

  /** Subtracts each row's maximum: x to y. */
  private static void shift(MemorySegment x, MemorySegment y, long cols, long from, long to) {
    for (long r = from; r < to; r++) {
      long start = r * cols;
      subtract(x, y, start, cols, max(x, start, cols), 0);
    }
  }

  private static float max(MemorySegment x, long start, long cols) {
    long c = 0;
    float max = Float.NEGATIVE_INFINITY;
    if (cols >= L) {
      FloatVector m = FloatVector.fromMemorySegment(S, x, 4 * start, LE);
      for (c = L; c <= cols - L; c += L) {
        m = m.max(FloatVector.fromMemorySegment(S, x, 4 * (start + c), LE));
      }
      max = m.reduceLanes(VectorOperators.MAX);
    }
    for (; c < cols; c++) {
      max = Math.max(max, x.getAtIndex(F32, start + c));
    }
    return max;
  }

  /** {@code y = (x - a) - b}: in this order, so that a large a does not swallow b. */
  private static void subtract(
      MemorySegment x, MemorySegment y, long start, long cols, float a, float b) {
    long c = 0;
    for (; c <= cols - L; c += L) {
      FloatVector.fromMemorySegment(S, x, 4 * (start + c), LE)
          .sub(a)
          .sub(b)
          .intoMemorySegment(y, 4 * (start + c), LE);
    }
    for (; c < cols; c++) {
      y.setAtIndex(F32, start + c, x.getAtIndex(F32, start + c) - a - b);
    }
  }

  private static void exp(MemorySegment x, long from, long to) {
    long i = from;
    for (; i <= to - L; i += L) {
      FloatVector.fromMemorySegment(S, x, 4 * i, LE)
          .lanewise(VectorOperators.EXP)
          .intoMemorySegment(x, 4 * i, LE);
    }
    for (; i < to; i++) {
      x.setAtIndex(F32, i, (float) Math.exp(x.getAtIndex(F32, i)));
    }
  }

  private static float sum(MemorySegment x, long start, long cols) {
    long c = 0;
    float sum = 0;
    if (cols >= L) {
      FloatVector s = FloatVector.zero(S);
      for (; c <= cols - L; c += L) {
        s = s.add(FloatVector.fromMemorySegment(S, x, 4 * (start + c), LE));
      }
      sum = s.reduceLanes(VectorOperators.ADD);
    }
    for (; c < cols; c++) {
      sum += x.getAtIndex(F32, start + c);
    }
    return sum;
  }

  private static void scale(MemorySegment x, long start, long cols, float by) {
    long c = 0;
    for (; c <= cols - L; c += L) {
      long at = 4 * (start + c);
      FloatVector.fromMemorySegment(S, x, at, LE).mul(by).intoMemorySegment(x, at, LE);
    }
    for (; c < cols; c++) {
      x.setAtIndex(F32, start + c, x.getAtIndex(F32, start + c) * by);
    }
  }

  /** With {@code b} holding exponentials: leaves the gradient there and returns the loss. */
  private static float crossEntropyRow(
      MemorySegment x,
      MemorySegment p,
      MemorySegment b,
      long start,
      long cols,
      float by,
      float log) {
    float loss = 0;
    long c = 0;
    if (cols >= L) {
      FloatVector s = FloatVector.zero(S);
      for (; c <= cols - L; c += L) {
        long at = 4 * (start + c);
        FloatVector label = FloatVector.fromMemorySegment(S, p, at, LE);
        FloatVector off =
            FloatVector.broadcast(S, log).sub(FloatVector.fromMemorySegment(S, x, at, LE));
        FloatVector term = label.mul(off);
        s = s.add(term.blend(0f, label.compare(VectorOperators.EQ, 0f)));
        FloatVector.fromMemorySegment(S, b, at, LE).mul(by).sub(label).intoMemorySegment(b, at, LE);
      }
      loss = s.reduceLanes(VectorOperators.ADD);
    }
    for (; c < cols; c++) {
      float label = p.getAtIndex(F32, start + c);
      if (label != 0) {
        loss += label * (log - x.getAtIndex(F32, start + c));
      }
      b.setAtIndex(F32, start + c, b.getAtIndex(F32, start + c) * by - label);
    }
    return loss;
  }

  // ---- the same in doubles, element by element: what the loops above compute ----

  private static double maxScalar(Tensor x, long start, long cols) {
    double max = Double.NEGATIVE_INFINITY;
    for (long c = 0; c < cols; c++) {
      max = Math.max(max, x.doubleAt(start + c));
    }
    return max;
  }

  private static double sumExpScalar(Tensor x, long start, long cols, double max) {
    double sum = 0;
    for (long c = 0; c < cols; c++) {
      sum += Math.exp(x.doubleAt(start + c) - max);
    }
    return sum;
  }

  static void softmaxScalar(Tensor x, Tensor out, long rows, long cols, boolean log) {
    for (long start = 0; start < rows * cols; start += cols) {
      double max = maxScalar(x, start, cols);
      double sum = sumExpScalar(x, start, cols, max);
      for (long i = start; i < start + cols; i++) {
        double v = x.doubleAt(i) - max;
        out.setDouble(i, log ? v - Math.log(sum) : Math.exp(v) / sum);
      }
    }
  }

  static void sparseCrossEntropyScalar(
      Tensor x, Tensor labels, Tensor loss, Tensor backprop, long rows, long cols) {
    for (long r = 0; r < rows; r++) {
      double max = maxScalar(x, r * cols, cols);
      double sum = sumExpScalar(x, r * cols, cols, max);
      long label = labels.longAt(r);
      loss.setDouble(r, Math.log(sum) - (x.doubleAt(r * cols + label) - max));
      for (long c = 0; c < cols; c++) {
        double p = Math.exp(x.doubleAt(r * cols + c) - max) / sum;
        backprop.setDouble(r * cols + c, c == label ? p - 1 : p);
      }
    }
  }

  static void crossEntropyScalar(
      Tensor x, Tensor labels, Tensor loss, Tensor backprop, long rows, long cols) {
    for (long r = 0; r < rows; r++) {
      double max = maxScalar(x, r * cols, cols);
      double sum = sumExpScalar(x, r * cols, cols, max);
      double total = 0;
      for (long i = r * cols; i < (r + 1) * cols; i++) {
        double v = x.doubleAt(i) - max;
        double label = labels.doubleAt(i);
        total += label == 0 ? 0 : label * (Math.log(sum) - v);
        backprop.setDouble(i, Math.exp(v) / sum - label);
      }
      loss.setDouble(r, total);
    }
  }
}
