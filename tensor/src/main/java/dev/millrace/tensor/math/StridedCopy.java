package dev.millrace.tensor.math;

import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.VectorModule;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.ref.Reference;
import java.nio.ByteOrder;
import java.util.Arrays;
import jdk.incubator.vector.IntVector;

/**
 * Copies an n-dimensional box of elements from one tensor to another, each walked with strides of
 * its own. Slices, transposes, padding, tiling, reversal and broadcasting are all such copies: they
 * differ in strides only. A stride of 0 in the source repeats, a negative one walks backwards.
 *
 * <p>The order of the dimensions does not matter to a copy, so it is chosen for speed: first
 * dimensions that can be walked as one are merged, then the one in which the target is contiguous
 * goes innermost, and the one in which the source is contiguous next to it. If that is the same
 * one, whole runs are copied; if not, the two are walked in square tiles that stay in cache.
 */
public final class StridedCopy {
  private static final ValueLayout.OfByte I8 = ValueLayout.JAVA_BYTE;
  private static final ValueLayout.OfShort I16 = ValueLayout.JAVA_SHORT_UNALIGNED;
  private static final ValueLayout.OfInt I32 = ValueLayout.JAVA_INT_UNALIGNED;
  private static final ValueLayout.OfLong I64 = ValueLayout.JAVA_LONG_UNALIGNED;

  /** Elements worth a second thread. */
  private static final long GRAIN = 1 << 16;

  private static final int TILE = 32;

  /** Elements in a row that are not worth being copied as one. */
  private static final int SHORT_RUN = 6;

  private final Tensor from;
  private final Tensor to;

  /** Per dimension, outermost first: how many, and how far apart in source and target. */
  private long[] dims;

  private long[] src;
  private long[] dst;

  private StridedCopy(Tensor from, Tensor to, long[] dims, long[] src, long[] dst) {
    this.from = from;
    this.to = to;
    this.dims = dims;
    this.src = src;
    this.dst = dst;
  }

  /** The strides, in elements, of a row-major box of these dimensions. */
  public static long[] rowMajor(long... dims) {
    long[] s = new long[dims.length];
    long n = 1;
    for (int i = dims.length - 1; i >= 0; i--) {
      s[i] = n;
      n *= dims[i];
    }
    return s;
  }

  /** The strides that repeat a row-major tensor of shape {@code from} to fill {@code to}. */
  public static long[] broadcast(Shape from, Shape to) {
    long[] rows = rowMajor(from.dims());
    long[] s = new long[to.rank()];
    for (int i = 1; i <= rows.length; i++) {
      s[s.length - i] = from.dim(-i) == 1 ? 0 : rows[rows.length - i];
    }
    return s;
  }

  /**
   * Copies the box {@code dims}. The first element is read at {@code fromStart} and written at
   * {@code toStart}; offsets and strides count elements. Target elements must not coincide, and
   * source and target must not overlap.
   */
  public static void copy(
      long[] dims,
      Tensor from,
      long fromStart,
      long[] fromStrides,
      Tensor to,
      long toStart,
      long[] toStrides) {
    for (long d : dims) {
      if (d == 0) {
        return;
      }
    }
    StridedCopy c = new StridedCopy(from, to, dims.clone(), fromStrides.clone(), toStrides.clone());
    c.merge();
    c.arrange();
    c.run(fromStart, toStart);
    Reference.reachabilityFence(from);
    Reference.reachabilityFence(to);
  }

  /** Copies {@code count} adjacent elements. */
  public static void copyRun(Tensor from, long fromStart, Tensor to, long toStart, long count) {
    if (from.dtype().isPlain()) {
      long b = from.dtype().bytes();
      MemorySegment.copy(from.data(), fromStart * b, to.data(), toStart * b, count * b);
    } else {
      Refs.copyObjects(from.objects(), fromStart, 1, to.objects(), toStart, 1, count);
    }
  }

  /** Drops dimensions of one, and joins neighbours that both sides walk as one. */
  private void merge() {
    int r = 0;
    for (int i = 0; i < dims.length; i++) {
      if (dims[i] == 1) {
        continue;
      }
      if (r > 0 && src[r - 1] == src[i] * dims[i] && dst[r - 1] == dst[i] * dims[i]) {
        dims[r - 1] *= dims[i];
      } else {
        dims[r++] = dims[i];
      }
      src[r - 1] = src[i];
      dst[r - 1] = dst[i];
    }
    dims = Arrays.copyOf(dims, r);
    src = Arrays.copyOf(src, r);
    dst = Arrays.copyOf(dst, r);
  }

  private void arrange() {
    int last = dims.length - 1;
    moveTo(last, smallest(dst, last));
    if (last > 0 && src[last] == 1 && dims[last] < SHORT_RUN && dims[last - 1] > dims[last]) {
      // Runs not worth a call each: better one long walk for each of their elements.
      moveTo(last, last - 1);
      return;
    }
    if (last > 0 && src[last] != 1) {
      moveTo(last - 1, smallest(src, last - 1));
    }
  }

  /** The dimension, up to {@code upTo}, with the smallest stride that is not 0. */
  private static int smallest(long[] strides, int upTo) {
    int best = upTo;
    for (int i = upTo; i >= 0; i--) {
      long s = Math.abs(strides[i]);
      if (s != 0 && (strides[best] == 0 || s < Math.abs(strides[best]))) {
        best = i;
      }
    }
    return best;
  }

  private void moveTo(int position, int dim) {
    for (long[] a : new long[][] {dims, src, dst}) {
      if (dim >= 0 && dim != position) {
        long v = a[dim];
        System.arraycopy(a, dim + 1, a, dim, position - dim);
        a[position] = v;
      }
    }
  }

  private void run(long fromStart, long toStart) {
    int r = dims.length;
    if (r == 0) {
      copyRun(from, fromStart, to, toStart, 1);
      return;
    }
    if (r == 1) {
      Parallel.run(
          dims[0],
          GRAIN,
          (a, b) -> line(b - a, fromStart + a * src[0], src[0], toStart + a * dst[0], dst[0]));
      return;
    }
    long planes = 1;
    for (int i = 0; i < r - 2; i++) {
      planes *= dims[i];
    }
    // The units of work are rows of the next-to-innermost dimension, in all planes.
    long rows = dims[r - 2];
    long grain = Math.max(1, GRAIN / dims[r - 1]);
    Parallel.run(
        planes * rows,
        grain,
        (a, b) -> {
          while (a < b) {
            long plane = a / rows;
            long row = a % rows;
            long n = Math.min(rows - row, b - a);
            long s = fromStart + row * src[r - 2];
            long d = toStart + row * dst[r - 2];
            for (int i = r - 3; i >= 0; i--) {
              long k = plane % dims[i];
              plane /= dims[i];
              s += k * src[i];
              d += k * dst[i];
            }
            plane(n, s, d);
            a += n;
          }
        });
  }

  /** Copies {@code rows} lines of the two innermost dimensions. */
  private void plane(long rows, long s, long d) {
    int r = dims.length;
    long n = dims[r - 1];
    if (src[r - 1] == 1 || src[r - 1] == 0 || src[r - 2] != 1) {
      for (long i = 0; i < rows; i++) {
        line(n, s + i * src[r - 2], src[r - 1], d + i * dst[r - 2], dst[r - 1]);
      }
      return;
    }
    for (long j = 0; j < n; j += TILE) {
      long width = Math.min(TILE, n - j);
      for (long i = 0; i < rows; i += TILE) {
        long height = Math.min(TILE, rows - i);
        tile(height, width, s + i + j * src[r - 1], d + i * dst[r - 2] + j * dst[r - 1]);
      }
    }
  }

  /** Copies a part of a plane in which the source is contiguous from row to row. */
  private void tile(long rows, long n, long s, long d) {
    int r = dims.length;
    long done = 0;
    if (dst[r - 1] == 1 && from.dtype().bytes() == 4) {
      done = rows & ~1;
      squares(from.data(), to.data(), done, n & ~1, s, src[r - 1], d, dst[r - 2]);
      for (long k = 0; (n & 1) != 0 && k < done; k++) {
        line(1, s + k + (n - 1) * src[r - 1], 1, d + k * dst[r - 2] + n - 1, 1);
      }
    }
    for (long k = done; k < rows; k++) {
      line(n, s + k, src[r - 1], d + k * dst[r - 2], dst[r - 1]);
    }
  }

  /** Transposes elements of four bytes in squares of two by two: both sides move two at a time. */
  private static void squares(
      MemorySegment a, MemorySegment b, long rows, long n, long s, long ss, long d, long ds) {
    for (long k = 0; k < rows; k += 2) {
      long x = s + k;
      long y = d + k * ds;
      for (long j = 0; j < n; j += 2) {
        long p = a.get(I64, 4 * (x + j * ss));
        long q = a.get(I64, 4 * (x + (j + 1) * ss));
        b.set(I64, 4 * (y + j), (p & 0xFFFFFFFFL) | q << 32);
        b.set(I64, 4 * (y + ds + j), p >>> 32 | q & 0xFFFFFFFF00000000L);
      }
    }
  }

  private void line(long n, long s, long ss, long d, long ds) {
    if (ss == 1 && ds == 1) {
      copyRun(from, s, to, d, n);
      return;
    }
    switch (from.dtype().bytes()) {
      case 0 -> objects(n, s, ss, d, ds);
      case 1 -> bytes(from.data(), to.data(), n, s, ss, d, ds);
      case 2 -> shorts(from.data(), to.data(), n, s, ss, d, ds);
      case 4 -> ints(from.data(), to.data(), n, s, ss, d, ds);
      case 8 -> longs(from.data(), to.data(), n, s, ss, d, ds);
      default -> pairs(from.data(), to.data(), n, s, ss, d, ds);
    }
  }

  private void objects(long n, long s, long ss, long d, long ds) {
    Refs.copyObjects(from.objects(), s, ss, to.objects(), d, ds, n);
  }

  private static void bytes(
      MemorySegment a, MemorySegment b, long n, long s, long ss, long d, long ds) {
    if (ss == 0 && ds == 1) {
      b.asSlice(d, n).fill(a.get(I8, s));
      return;
    }
    for (long i = 0; i < n; i++) {
      b.set(I8, d + i * ds, a.get(I8, s + i * ss));
    }
  }

  private static void shorts(
      MemorySegment a, MemorySegment b, long n, long s, long ss, long d, long ds) {
    for (long i = 0; i < n; i++) {
      b.setAtIndex(I16, d + i * ds, a.getAtIndex(I16, s + i * ss));
    }
  }

  private static void ints(
      MemorySegment a, MemorySegment b, long n, long s, long ss, long d, long ds) {
    if (ss == 0 && ds == 1) {
      int v = a.getAtIndex(I32, s);
      long i = VectorModule.isPresent() ? Vectors.fill(b, d, n, v) : 0;
      for (; i < n; i++) {
        b.setAtIndex(I32, d + i, v);
      }
      return;
    }
    for (long i = 0; i < n; i++) {
      b.setAtIndex(I32, d + i * ds, a.getAtIndex(I32, s + i * ss));
    }
  }

  private static void longs(
      MemorySegment a, MemorySegment b, long n, long s, long ss, long d, long ds) {
    if (ss == 0 && ds == 1) {
      long v = a.getAtIndex(I64, s);
      for (long i = 0; i < n; i++) {
        b.setAtIndex(I64, d + i, v);
      }
      return;
    }
    for (long i = 0; i < n; i++) {
      b.setAtIndex(I64, d + i * ds, a.getAtIndex(I64, s + i * ss));
    }
  }

  private static void pairs(
      MemorySegment a, MemorySegment b, long n, long s, long ss, long d, long ds) {
    for (long i = 0; i < n; i++) {
      long x = 2 * (s + i * ss);
      long y = 2 * (d + i * ds);
      b.setAtIndex(I64, y, a.getAtIndex(I64, x));
      b.setAtIndex(I64, y + 1, a.getAtIndex(I64, x + 1));
    }
  }

  /** The loop over vectors: apart, as it can be linked only where there is the Vector API. */
  private static final class Vectors {
    private Vectors() {}

    static long fill(MemorySegment b, long d, long n, int v) {
      IntVector all = IntVector.broadcast(IntVector.SPECIES_PREFERRED, v);
      long i = 0;
      for (; i + all.length() <= n; i += all.length()) {
        all.intoMemorySegment(b, 4 * (d + i), ByteOrder.LITTLE_ENDIAN);
      }
      return i;
    }
  }
}
