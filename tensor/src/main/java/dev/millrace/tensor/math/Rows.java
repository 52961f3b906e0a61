package dev.millrace.tensor.math;

import dev.millrace.tensor.Tensor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.ref.Reference;

/**
 * Picks rows of a tensor by index and adds rows into places given by index. A row is any number of
 * adjacent elements; indices are int16, int32 or int64.
 *
 * <p>Threading: large jobs are split over the threads of {@link Parallel}, and the result does not
 * depend on how.
 */
public final class Rows {
  private static final ValueLayout.OfFloat F32 = ValueLayout.JAVA_FLOAT_UNALIGNED;
  private static final ValueLayout.OfDouble F64 = ValueLayout.JAVA_DOUBLE_UNALIGNED;
  private static final ValueLayout.OfInt I32 = ValueLayout.JAVA_INT_UNALIGNED;
  private static final ValueLayout.OfLong I64 = ValueLayout.JAVA_LONG_UNALIGNED;
  private static final ValueLayout.OfShort I16 = ValueLayout.JAVA_SHORT_UNALIGNED;

  /** Elements worth a second thread. */
  private static final long GRAIN = 1 << 15;

  private Rows() {}

  /** The position of the first index that is not in 0..{@code limit}, or -1 if all are. */
  public static long firstOutside(Tensor indices, long limit) {
    long n = indices.elements();
    MemorySegment m = indices.data();
    int bytes = indices.dtype().bytes();
    for (long i = 0; i < n; i++) {
      long v = at(m, bytes, i);
      if (v < 0 || v >= limit) {
        return i;
      }
    }
    Reference.reachabilityFence(indices);
    return -1;
  }

  /**
   * Fills {@code out} with rows of {@code length} elements. {@code from} consists of {@code blocks}
   * blocks of {@code rows} rows; of each block come the rows that {@code indices} name, in order.
   * With {@code batches} above 1 the indices and the blocks are in that many equal parts, and a
   * part of the blocks uses the same part of the indices. All indices must be in range.
   */
  public static void gather(
      Tensor from, long batches, long blocks, long rows, long length, Tensor indices, Tensor out) {
    long each = indices.elements() / batches;
    long blocksEach = blocks / batches;
    int bytes = indices.dtype().bytes();
    MemorySegment index = indices.data();
    Parallel.run(
        blocks * each,
        Math.max(1, GRAIN / Math.max(1, length)),
        (a, b) -> {
          for (long r = a; r < b; r++) {
            long block = r / each;
            long i = at(index, bytes, block / blocksEach * each + r % each);
            copyRow(from, block * rows + i, out, r, length);
          }
        });
    Reference.reachabilityFence(indices);
    Reference.reachabilityFence(from);
    Reference.reachabilityFence(out);
  }

  private static void copyRow(Tensor from, long i, Tensor to, long k, long length) {
    int bytes = from.dtype().bytes();
    if (length == 1 && bytes == 4) {
      to.data().setAtIndex(I32, k, from.data().getAtIndex(I32, i));
    } else if (length == 1 && bytes == 8) {
      to.data().setAtIndex(I64, k, from.data().getAtIndex(I64, i));
    } else {
      StridedCopy.copyRun(from, i * length, to, k * length, length);
    }
  }

  /**
   * Adds row i of {@code rows} to row {@code indices[i]} of {@code into}, in order, for all i. Rows
   * whose index is outside {@code into} are left out.
   */
  public static void add(Tensor into, Tensor indices, Tensor rows, long length) {
    addPicked(into, indices, rows, null, length);
  }

  /**
   * The same with rows picked from a table: for all i, in order, adds row {@code picks[i]} of
   * {@code rows} to row {@code indices[i]} of {@code into}. All picks must be in range; null picks
   * each row once.
   */
  public static void addPicked(
      Tensor into, Tensor indices, Tensor rows, Tensor picks, long length) {
    if (length == 0) {
      return;
    }
    long n = indices.elements();
    long limit = into.elements() / length;
    int bytes = indices.dtype().bytes();
    MemorySegment index = indices.data();
    MemorySegment pick = picks == null ? null : picks.data();
    int pickBytes = picks == null ? 0 : picks.dtype().bytes();
    // Each thread owns a range of the places, so that no two write to the same one.
    long grain = n * length < GRAIN ? limit : Math.max(1, limit / Parallel.threads() + 1);
    Parallel.run(
        limit,
        Math.max(1, grain),
        (a, b) -> {
          for (long i = 0; i < n; i++) {
            long k = at(index, bytes, i);
            if (k >= a && k < b) {
              long from = pick == null ? i : at(pick, pickBytes, i);
              addRun(into, k * length, rows, from * length, length);
            }
          }
        });
    Reference.reachabilityFence(indices);
    Reference.reachabilityFence(picks);
    Reference.reachabilityFence(rows);
    Reference.reachabilityFence(into);
  }

  private static void addRun(Tensor into, long to, Tensor rows, long from, long n) {
    switch (into.dtype()) {
      case FLOAT -> addFloats(into.data(), to, rows.data(), from, n);
      case DOUBLE -> addDoubles(into.data(), to, rows.data(), from, n);
      case COMPLEX64 -> addFloats(into.data(), 2 * to, rows.data(), 2 * from, 2 * n);
      case COMPLEX128 -> addDoubles(into.data(), 2 * to, rows.data(), 2 * from, 2 * n);
      case HALF, BFLOAT16 -> {
        for (long i = 0; i < n; i++) {
          into.setDouble(to + i, into.doubleAt(to + i) + rows.doubleAt(from + i));
        }
      }
      default -> {
        for (long i = 0; i < n; i++) {
          into.setLong(to + i, into.longAt(to + i) + rows.longAt(from + i));
        }
      }
    }
  }

  private static void addFloats(MemorySegment y, long to, MemorySegment x, long from, long n) {
    for (long i = 0; i < n; i++) {
      y.setAtIndex(F32, to + i, y.getAtIndex(F32, to + i) + x.getAtIndex(F32, from + i));
    }
  }

  private static void addDoubles(MemorySegment y, long to, MemorySegment x, long from, long n) {
    for (long i = 0; i < n; i++) {
      y.setAtIndex(F64, to + i, y.getAtIndex(F64, to + i) + x.getAtIndex(F64, from + i));
    }
  }

  /** Index {@code i}, of this many bytes. */
  private static long at(MemorySegment m, int bytes, long i) {
    return switch (bytes) {
      case 4 -> m.getAtIndex(I32, i);
      case 8 -> m.getAtIndex(I64, i);
      default -> m.getAtIndex(I16, i);
    };
  }
}
