package dev.millrace.cli;

import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.library.OpLibrary;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.tensor.Tensor;
import java.util.Collection;
import java.util.List;

/** A library of one op, which a test names as a service. */
public final class DoubledOps implements OpLibrary {
  @Override
  public Collection<Op> ops() {
    return List.of(
        Op.define("Doubled")
            .input("x: float")
            .output("y: float")
            .shape(Shapes.like(0))
            .kernel(DoubledOps::compute)
            .noGradient("a test")
            .build());
  }

  private static void compute(KernelContext c) {
    Tensor x = c.input(0);
    Tensor y = c.allocate(0, x.shape());
    for (long i = 0; i < x.shape().elements(); i++) {
      y.setDouble(i, 2 * x.doubleAt(i));
    }
  }
}
