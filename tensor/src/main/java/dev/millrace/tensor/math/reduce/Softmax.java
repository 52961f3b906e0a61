package dev.millrace.tensor.math.reduce;

import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.VectorModule;
import dev.millrace.tensor.math.Parallel;
import dev.millrace.tensor.math.Specialized;
import dev.millrace.tensor.math.elementwise.ElementCast;
import dev.millrace.tensor.math.lanes.LaneType;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.ref.Reference;
import java.util.Arrays;

/**
 * Softmax over the rows of a matrix, its logarithm, and the cross entropy of either with labels.
 * The largest element of each row is subtracted first, so nothing overflows. Half and bfloat16 are
 * computed as float. Results may share memory with the logits, but for the backprop of {@link
 * #crossEntropy}.
 *
 * <p>Threading: many rows are split over the threads of {@link Parallel}; the result does not
 * depend on how.
 */
public final class Softmax {
  /** The loops over rows that lie one after the other; see the methods of {@link Softmax}. */
  interface Loop {
    void softmax(MemorySegment x, long at, MemorySegment y, long to, long rows, long n);

    void logSoftmax(MemorySegment x, long at, MemorySegment y, long to, long rows, long n);

    /** Logits, labels and backprop all start at the same offset. */
    void crossEntropy(
        MemorySegment x,
        MemorySegment labels,
        MemorySegment loss,
        MemorySegment backprop,
        long firstRow,
        long rows,
        long n);

    /** As many rows as there are labels. */
    void sparseCrossEntropy(
        MemorySegment x,
        long[] labels,
        MemorySegment loss,
        MemorySegment backprop,
        long firstRow,
        long n);
  }

  /** Elements that are worth a thread of their own. */
  private static final long GRAIN = 1 << 13;

  /** Elements a loop is called with at most, so that a fresh one is compiled soon. */
  private static final long BLOCK = 2048;

  private static final Loop FLOATS = loop(LaneType.FLOAT);
  private static final Loop DOUBLES = loop(LaneType.DOUBLE);

  private Softmax() {}

  private static Loop loop(LaneType type) {
    return Specialized.copy(
        MethodHandles.lookup(),
        Loop.class,
        VectorModule.isPresent() ? SoftmaxLoop.class : ScalarSoftmaxLoop.class,
        type);
  }

  /** {@code out[r, c] = exp(x[r, c]) / sum over c of exp(x[r, c])}. */
  public static void softmax(Tensor x, Tensor out, long rows, long cols) {
    Computation computation =
        (loop, in, to, row, count) -> {
          long at = row * cols * in[0].dtype().bytes();
          loop.softmax(in[0].data(), at, to[0].data(), at, count, cols);
        };
    run(new Tensor[] {x}, new Tensor[] {out}, rows, cols, computation);
  }

  /** The logarithm of {@link #softmax}. */
  public static void logSoftmax(Tensor x, Tensor out, long rows, long cols) {
    Computation computation =
        (loop, in, to, row, count) -> {
          long at = row * cols * in[0].dtype().bytes();
          loop.logSoftmax(in[0].data(), at, to[0].data(), at, count, cols);
        };
    run(new Tensor[] {x}, new Tensor[] {out}, rows, cols, computation);
  }

  /**
   * Cross entropy with one class per row: {@code loss[r]} and its gradient by the logits. Labels,
   * int32 or int64, must be within 0 and {@code cols}.
   */
  public static void sparseCrossEntropy(
      Tensor x, Tensor labels, Tensor loss, Tensor backprop, long rows, long cols) {
    if (VectorModule.isPresent() && ShortRows.suit(x.dtype(), cols)) {
      Parallel.run(
          rows,
          GRAIN / Math.max(1, cols),
          (from, to) ->
              ShortRows.sparseCrossEntropy(
                  x.data(), labels, loss.data(), backprop.data(), from, to, (int) cols));
      Reference.reachabilityFence(x);
      Reference.reachabilityFence(labels);
      Reference.reachabilityFence(loss);
      Reference.reachabilityFence(backprop);
      return;
    }
    long[] classes = labels.toLongs();
    Computation computation =
        (loop, in, to, row, count) ->
            loop.sparseCrossEntropy(
                in[0].data(),
                Arrays.copyOfRange(classes, (int) row, (int) (row + count)),
                to[0].data(),
                to[1].data(),
                row,
                cols);
    run(new Tensor[] {x}, new Tensor[] {loss, backprop}, rows, cols, computation);
  }

  /**
   * Cross entropy with a distribution per row: {@code loss[r] = -sum(labels * log softmax(x))} and
   * its gradient by the logits. As in TensorFlow, a label of 0 does not make up for a logit of
   * minus infinity: the loss is then NaN.
   */
  public static void crossEntropy(
      Tensor x, Tensor labels, Tensor loss, Tensor backprop, long rows, long cols) {
    Computation computation =
        (loop, in, to, row, count) ->
            loop.crossEntropy(
                in[0].data(), in[1].data(), to[0].data(), to[1].data(), row, count, cols);
    run(new Tensor[] {x, labels}, new Tensor[] {loss, backprop}, rows, cols, computation);
  }

  /** Some rows, starting with {@code row}. */
  private interface Computation {
    void run(Loop loop, Tensor[] inputs, Tensor[] outputs, long row, long count);
  }

  private static void run(
      Tensor[] inputs, Tensor[] outputs, long rows, long cols, Computation computation) {
    DType type = inputs[0].dtype();
    if (type != DType.FLOAT && type != DType.DOUBLE) {
      runAsFloat(inputs, outputs, rows, cols, computation);
      return;
    }
    Loop loop = type == DType.FLOAT ? FLOATS : DOUBLES;
    long each = Math.max(1, BLOCK / Math.max(1, cols));
    Parallel.run(
        rows,
        Math.max(1, GRAIN / Math.max(1, cols)),
        (from, to) -> {
          for (long r = from; r < to; r += each) {
            computation.run(loop, inputs, outputs, r, Math.min(each, to - r));
          }
        });
    Reference.reachabilityFence(inputs);
    Reference.reachabilityFence(outputs);
  }

  private static void runAsFloat(
      Tensor[] inputs, Tensor[] outputs, long rows, long cols, Computation computation) {
    Tensor[] in = floatsLike(inputs);
    Tensor[] out = floatsLike(outputs);
    try {
      for (int i = 0; i < in.length; i++) {
        ElementCast.run(inputs[i], in[i]);
      }
      run(in, out, rows, cols, computation);
      for (int i = 0; i < out.length; i++) {
        ElementCast.run(out[i], outputs[i]);
      }
    } finally {
      release(in);
      release(out);
    }
  }

  private static Tensor[] floatsLike(Tensor[] tensors) {
    Tensor[] floats = new Tensor[tensors.length];
    for (int i = 0; i < floats.length; i++) {
      floats[i] = Refs.allocate(DType.FLOAT, tensors[i].shape());
    }
    return floats;
  }

  private static void release(Tensor[] tensors) {
    for (Tensor t : tensors) {
      Refs.release(t);
    }
  }
}
