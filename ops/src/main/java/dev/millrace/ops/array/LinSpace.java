package dev.millrace.ops.array;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;

/** {@code num} numbers at equal distances from {@code start} to {@code stop}, both included. */
public final class LinSpace {
  public static final Op OP =
      Op.define("LinSpace")
          .attr("T: {bfloat16, half, float, double}")
          .attr("Tidx: {int32, int64} = int32")
          .input("start: T")
          .input("stop: T")
          .input("num: Tidx")
          .output("output: T")
          .shape(
              c -> {
                Tensor num = c.constant(2);
                return List.of(Shape.of(num == null ? Shape.UNKNOWN : count(num)));
              })
          .kernel(LinSpace::compute)
          .noGradient("TensorFlow defines none")
          .build();

  private LinSpace() {}

  /** {@code num} numbers at equal distances from {@code start} to {@code stop}, both included. */
  public static Output of(Scope scope, Output start, Output stop, int num) {
    return scope.add(OP, start, stop, Const.of(scope, num)).output();
  }

  private static long count(Tensor num) {
    long n = Axis.single(num, "num");
    if (n <= 0) {
      throw MillraceException.invalid("Requires num > 0: %d", n);
    }
    return n;
  }

  private static void compute(KernelContext c) {
    long n = count(c.input(2));
    if (!c.input(0).shape().isScalar() || !c.input(1).shape().isScalar()) {
      throw MillraceException.invalid(
          "start and stop must be scalars, not of shapes %s and %s",
          c.input(0).shape(), c.input(1).shape());
    }
    double start = c.input(0).doubleAt(0);
    double stop = c.input(1).doubleAt(0);
    Tensor y = c.allocate(0, Shape.of(n));
    y.setDouble(0, start);
    if (n > 1) {
      double step = (stop - start) / (n - 1);
      for (long i = 1; i < n - 1; i++) {
        y.setDouble(i, start + step * i);
      }
      y.setDouble(n - 1, stop);
    }
  }
}
