package dev.millrace.tensor.math;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.fail;

import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class StridedCopyTest {
  private static final List<DType> TYPES =
      List.of(DType.UINT8, DType.INT16, DType.FLOAT, DType.INT64, DType.COMPLEX128, DType.STRING);

  /** Element {@code i} of a tensor of distinct elements of any type. */
  private static Tensor distinct(DType type, long n) {
    Tensor t = Tensor.allocate(type, Shape.of(n));
    for (int i = 0; i < n; i++) {
      if (type == DType.STRING) {
        t.objects()[i] = new byte[] {(byte) i, (byte) (i >> 8)};
      } else {
        for (int b = 0; b < type.bytes(); b++) {
          t.data()
              .set(
                  ValueLayout.JAVA_BYTE,
                  (long) i * type.bytes() + b,
                  (byte) (i * 31 + b * 7 + (i >> 8)));
        }
      }
    }
    return t;
  }

  private static void assertSame(Tensor x, long i, Tensor y, long k, String what) {
    if (x.dtype() == DType.STRING) {
      assertArrayEquals(x.bytesAt(i), y.bytesAt(k), what);
      return;
    }
    long b = x.dtype().bytes();
    long difference =
        MemorySegment.mismatch(x.data(), i * b, (i + 1) * b, y.data(), k * b, (k + 1) * b);
    if (difference >= 0) {
      fail(what + ": element " + k);
    }
  }

  /** Copies one element after the other. */
  private static void check(
      DType type, long[] dims, long fromStart, long[] from, long fromSize, long[] order) {
    Tensor x = distinct(type, fromSize);
    long[] to = new long[dims.length];
    long n = 1;
    for (int i = dims.length - 1; i >= 0; i--) {
      to[(int) order[i]] = n;
      n *= dims[(int) order[i]];
    }
    Tensor y = distinct(type, n + 2);
    StridedCopy.copy(dims, x, fromStart, from, y, 1, to);
    String what = type + " " + Arrays.toString(dims) + Arrays.toString(from);
    Tensor untouched = distinct(type, n + 2);
    assertSame(untouched, 0, y, 0, what);
    assertSame(untouched, n + 1, y, n + 1, what);
    long[] at = new long[dims.length];
    for (long i = 0; i < n; i++) {
      long s = fromStart;
      long d = 1;
      for (int k = 0; k < dims.length; k++) {
        s += at[k] * from[k];
        d += at[k] * to[k];
      }
      assertSame(x, s, y, d, what);
      for (int k = dims.length - 1; k >= 0 && ++at[k] == dims[k]; k--) {
        at[k] = 0;
      }
    }
  }

  @Test
  void anyBoxOfAnyTypeIsCopied() {
    Random r = new Random(5);
    for (int round = 0; round < 300; round++) {
      int rank = r.nextInt(5);
      long[] dims = new long[rank];
      long[] from = new long[rank];
      Integer[] order = new Integer[rank];
      for (int i = 0; i < rank; i++) {
        dims[i] = r.nextInt(10) == 0 ? 40 : 1 + r.nextInt(5);
        order[i] = i;
      }
      // Source strides in a random order of dimensions, some repeated, some backwards.
      Collections.shuffle(Arrays.asList(order), r);
      long size = 1;
      long start = 0;
      for (int i : order) {
        int kind = r.nextInt(6);
        if (kind == 0) {
          continue;
        }
        long step = size * (kind == 1 ? 2 : 1);
        from[i] = kind == 2 ? -step : step;
        start += kind == 2 ? (dims[i] - 1) * step : 0;
        size = step * dims[i];
      }
      Collections.shuffle(Arrays.asList(order), r);
      long[] target = Arrays.stream(order).mapToLong(Integer::longValue).toArray();
      check(TYPES.get(round % TYPES.size()), dims, start, from, size, target);
    }
  }

  @Test
  void largeTransposeIsSplitOverThreadsAndStaysRight() {
    for (long[] d : new long[][] {{301, 257}, {1000, 3}, {7, 90, 65}}) {
      long[] dims = new long[d.length];
      long[] rows = StridedCopy.rowMajor(d);
      long[] from = new long[d.length];
      long[] order = new long[d.length];
      for (int i = 0; i < d.length; i++) {
        dims[i] = d[d.length - 1 - i];
        from[i] = rows[d.length - 1 - i];
        order[i] = i;
      }
      check(DType.INT32, dims, 0, from, dims[0] * rows[0] * d[0], order);
      check(DType.DOUBLE, dims, 0, from, dims[0] * rows[0] * d[0], order);
    }
  }

  @Test
  void boxWithoutElementsCopiesNothing() {
    Tensor y = Tensor.vector(1, 2);
    StridedCopy.copy(new long[] {0, 5}, Tensor.vector(9), 0, new long[2], y, 0, new long[2]);
    assertArrayEquals(new int[] {1, 2}, y.toInts());
  }

  @Test
  void broadcastRepeatsDimensionsOfOneAndNewOnes() {
    assertArrayEquals(
        new long[] {0, 0, 1}, StridedCopy.broadcast(Shape.of(1, 3), Shape.of(2, 4, 3)));
    assertArrayEquals(new long[] {0, 0}, StridedCopy.broadcast(Shape.scalar(), Shape.of(2, 4)));
  }
}
