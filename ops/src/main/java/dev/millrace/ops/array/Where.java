package dev.millrace.ops.array;

import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.StridedCopy;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;

/** The coordinates of the elements that are true or not zero, one row each, in order. */
public final class Where {
  public static final Op OP =
      Op.define("Where")
          .attr(
              "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8,"
                  + " qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64,"
                  + " bool} = bool")
          .input("input: T")
          .output("index: int64")
          .shape(
              c ->
                  List.of(
                      Shape.of(
                          Shape.UNKNOWN, c.input(0).hasRank() ? c.input(0).rank() : Shape.UNKNOWN)))
          .kernel(Where::compute)
          .noGradient("coordinates are integers")
          .build();

  private Where() {}

  /** The coordinates of the elements that are true or not 0, one per row, in their order. */
  public static Output of(Scope scope, Output condition) {
    return scope.add(OP, condition).output();
  }

  private static void compute(KernelContext c) {
    Tensor x = c.input(0);
    Shape s = x.shape();
    long n = x.elements();
    long found = 0;
    for (long i = next(x, 0, n); i < n; i = next(x, i + 1, n)) {
      found++;
    }
    int rank = s.rank();
    long[] steps = StridedCopy.rowMajor(s.dims());
    MemorySegment out = c.allocate(0, Shape.of(found, rank)).data();
    long to = 0;
    for (long i = next(x, 0, n); i < n; i = next(x, i + 1, n)) {
      long rest = i;
      for (int d = 0; d < rank; d++) {
        out.setAtIndex(ValueLayout.JAVA_LONG_UNALIGNED, to++, rest / steps[d]);
        rest %= steps[d];
      }
    }
  }

  /** The first element from {@code i} on that counts, or {@code n}. */
  private static long next(Tensor x, long i, long n) {
    if (x.dtype() == DType.BOOL) {
      // Eight elements at a time; the lowest byte that is not 0 is the first.
      for (; i + 8 <= n; i += 8) {
        long word = x.data().get(ValueLayout.JAVA_LONG_UNALIGNED, i);
        if (word != 0) {
          return i + (Long.numberOfTrailingZeros(word) >> 3);
        }
      }
    }
    while (i < n && !isSet(x, i)) {
      i++;
    }
    return i;
  }

  private static boolean isSet(Tensor x, long i) {
    return switch (x.dtype()) {
      case COMPLEX64 -> part(x, 2 * i) != 0 || part(x, 2 * i + 1) != 0;
      case COMPLEX128 -> twice(x, 2 * i) != 0 || twice(x, 2 * i + 1) != 0;
      case BOOL -> x.data().get(ValueLayout.JAVA_BYTE, i) != 0;
      default -> x.dtype().isFloating() ? x.doubleAt(i) != 0 : x.longAt(i) != 0;
    };
  }

  private static float part(Tensor x, long i) {
    return x.data().getAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, i);
  }

  private static double twice(Tensor x, long i) {
    return x.data().getAtIndex(ValueLayout.JAVA_DOUBLE_UNALIGNED, i);
  }
}
