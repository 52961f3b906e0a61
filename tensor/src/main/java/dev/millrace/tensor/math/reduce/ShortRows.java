package dev.millrace.tensor.math.reduce;

import dev.millrace.tensor.Buffer;
import dev.millrace.tensor.BufferPool;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.gemm.Panel;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/**
 * Sparse cross entropy of floats over rows of few classes. Rows shorter than a vector would leave
 * lanes empty and need a sum across lanes each, so they are turned: a vector holds one class of
 * many rows. The turned matrix lies in scratch memory, a line per class, and after those a line for
 * the largest logit of each row and one for the logarithm of its sum of exponentials.
 */
final class ShortRows {
  private static final VectorSpecies<Float> S = FloatVector.SPECIES_PREFERRED;
  private static final ByteOrder ORDER = ByteOrder.LITTLE_ENDIAN;
  private static final ValueLayout.OfFloat F32 = ValueLayout.JAVA_FLOAT_UNALIGNED;
  private static final ValueLayout.OfInt I32 = ValueLayout.JAVA_INT_UNALIGNED;
  private static final ValueLayout.OfLong I64 = ValueLayout.JAVA_LONG_UNALIGNED;
  private static final long VECTOR_BYTES = S.vectorByteSize();

  /** Classes at most. */
  private static final int MAX = 2 * S.length();

  /** Rows turned at a time. */
  private static final int BLOCK = 8 * S.length();

  private ShortRows() {}

  static boolean suit(DType type, long cols) {
    return type == DType.FLOAT && cols <= MAX;
  }

  /** As {@link Softmax#sparseCrossEntropy}, for rows from {@code first} to {@code end}. */
  static void sparseCrossEntropy(
      MemorySegment x,
      Tensor labels,
      MemorySegment loss,
      MemorySegment backprop,
      long first,
      long end,
      int n) {
    long line = 4L * BLOCK;
    Buffer buffer = BufferPool.current().allocate((n + 2) * line);
    try {
      MemorySegment turned = buffer.memory();
      for (long row = first; row < end; row += BLOCK) {
        int rows = (int) Math.min(BLOCK, end - row);
        int filled = (rows + S.length() - 1) / S.length() * S.length();
        if (filled > rows) {
          for (int j = 0; j < n; j++) {
            turned.asSlice(j * line + 4L * rows, 4L * (filled - rows)).fill((byte) 0);
          }
        }
        Panel.transpose(x.address() + 4 * row * n, 4L * n, rows, n, turned.address(), line);
        softmax(turned, n, line, 4L * filled);
        losses(x, labels, loss, row, rows, n, turned, n * line, line);
        Panel.transpose(turned.address(), line, n, rows, backprop.address() + 4 * row * n, 4L * n);
        lessLabels(labels, backprop, row, rows, n);
      }
    } finally {
      buffer.release();
    }
  }

  private static void softmax(MemorySegment x, int n, long line, long bytes) {
    for (long v = 0; v < bytes; v += VECTOR_BYTES) {
      FloatVector max = FloatVector.fromMemorySegment(S, x, v, ORDER);
      for (long j = 1; j < n; j++) {
        FloatVector a = FloatVector.fromMemorySegment(S, x, j * line + v, ORDER);
        max = max.blend(a, a.compare(VectorOperators.GT, max));
      }
      max.intoMemorySegment(x, n * line + v, ORDER);
      FloatVector sum = FloatVector.zero(S);
      for (long j = 0; j < n; j++) {
        FloatVector e =
            FloatVector.fromMemorySegment(S, x, j * line + v, ORDER)
                .sub(FloatVector.fromMemorySegment(S, x, n * line + v, ORDER))
                .lanewise(VectorOperators.EXP);
        e.intoMemorySegment(x, j * line + v, ORDER);
        sum = e.add(sum);
      }
      FloatVector share = FloatVector.broadcast(S, 1f).div(sum);
      for (long j = 0; j < n; j++) {
        FloatVector.fromMemorySegment(S, x, j * line + v, ORDER)
            .mul(share)
            .intoMemorySegment(x, j * line + v, ORDER);
      }
      sum.lanewise(VectorOperators.LOG).intoMemorySegment(x, (n + 1) * line + v, ORDER);
    }
  }

  private static void losses(
      MemorySegment x,
      Tensor labels,
      MemorySegment loss,
      long row,
      int rows,
      int n,
      MemorySegment turned,
      long maxAt,
      long line) {
    for (int r = 0; r < rows; r++) {
      float max = turned.get(F32, maxAt + 4L * r);
      float log = turned.get(F32, maxAt + line + 4L * r);
      float logit = x.get(F32, 4 * ((row + r) * n + label(labels, row + r)));
      loss.set(F32, 4 * (row + r), log - (logit - max));
    }
  }

  private static void lessLabels(Tensor labels, MemorySegment y, long row, int rows, int n) {
    for (int r = 0; r < rows; r++) {
      long at = 4 * ((row + r) * n + label(labels, row + r));
      y.set(F32, at, y.get(F32, at) - 1);
    }
  }

  private static long label(Tensor labels, long row) {
    return labels.dtype() == DType.INT32
        ? labels.data().get(I32, 4 * row)
        : labels.data().get(I64, 8 * row);
  }
}
