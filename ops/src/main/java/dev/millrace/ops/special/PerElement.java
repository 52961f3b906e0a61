package dev.millrace.ops.special;

import dev.millrace.graph.Kernel;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.Parallel;
import dev.millrace.tensor.math.elementwise.BroadcastIndex;
import java.util.function.DoubleBinaryOperator;
import java.util.function.DoubleUnaryOperator;

/** Kernels that compute each element by itself, in double precision, and round once. */
final class PerElement {
  /** Elements worth handing to another thread; these functions take about a microsecond. */
  private static final long GRAIN = 1 << 10;

  private PerElement() {}

  static Kernel unary(DoubleUnaryOperator f) {
    return c -> {
      Tensor x = c.input(0);
      Tensor y = c.allocate(0, x.shape());
      Parallel.run(
          x.elements(),
          GRAIN,
          (from, to) -> {
            for (long i = from; i < to; i++) {
              y.setDouble(i, f.applyAsDouble(x.doubleAt(i)));
            }
          });
    };
  }

  /** Of two operands that broadcast. */
  static Kernel binary(DoubleBinaryOperator f) {
    return c -> {
      Tensor x = c.input(0);
      Tensor y = c.input(1);
      Shape s = Shape.broadcast(x.shape(), y.shape());
      Tensor z = c.allocate(0, s);
      BroadcastIndex ofX = new BroadcastIndex(x.shape(), s);
      BroadcastIndex ofY = new BroadcastIndex(y.shape(), s);
      Parallel.run(
          s.elements(),
          GRAIN,
          (from, to) -> {
            for (long i = from; i < to; i++) {
              z.setDouble(i, f.applyAsDouble(x.doubleAt(ofX.of(i)), y.doubleAt(ofY.of(i))));
            }
          });
    };
  }
}
