package dev.millrace.ops.array;

import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.op.KernelContext;
import dev.millrace.graph.op.Op;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
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

  public static Output of(Scope scope, Output condition) {
    return scope.add(OP, condition).output();
  }

  private static void compute(KernelContext c) {
    Tensor x = c.input(0);
    Shape s = x.shape();
    long n = x.elements();
    long found = 0;
    for (long i = 0; i < n; i++) {
      found += isSet(x, i) ? 1 : 0;
    }
    int rank = s.rank();
    Tensor y = c.allocate(0, Shape.of(found, rank));
    MemorySegment out = y.data();
    long row = 0;
    for (long i = 0; i < n; i++) {
      if (isSet(x, i)) {
        long rest = i;
        for (int d = rank - 1; d >= 0; d--) {
          out.setAtIndex(ValueLayout.JAVA_LONG_UNALIGNED, row * rank + d, rest % s.dim(d));
          rest /= s.dim(d);
        }
        row++;
      }
    }
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
