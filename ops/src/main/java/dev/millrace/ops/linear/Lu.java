package dev.millrace.ops.linear;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Gradient;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.ShapeContext;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.linear.LuFactors;
import java.util.List;

/** The triangular factors of square matrices, and the order of the rows. */
final class Lu {
  static final Op OP =
      Matrices.define("Lu")
          .attr("output_idx_type: {int32, int64} = int32")
          .input("input: T")
          .output("lu: T")
          .output("p: output_idx_type")
          .shape(Lu::infer)
          .kernel(Lu::compute)
          .gradient(Gradient.undefined("Millrace defines none"))
          .build();

  private Lu() {}

  private static List<Shape> infer(ShapeContext c) {
    Shape s = Matrices.square(c.input(0));
    return List.of(s, s.hasRank() ? s.slice(0, s.rank() - 1) : s);
  }

  private static void compute(KernelContext c) {
    Tensor a = c.input(0);
    Shape s = Matrices.square(a.shape());
    Tensor lu = c.allocate(0, s);
    Tensor order = c.allocate(1, s.slice(0, s.rank() - 1));
    int n = Matrices.rows(a);
    Matrices.each(
        a,
        i -> {
          LuFactors factors = LuFactors.of(Matrices.matrix(a, i));
          if (factors.isSingular()) {
            throw MillraceException.invalid("Input is not invertible.");
          }
          factors.packed().copyTo(lu, i);
          for (int r = 0; r < n; r++) {
            order.setLong(i * n + r, factors.order()[r]);
          }
        });
  }
}
