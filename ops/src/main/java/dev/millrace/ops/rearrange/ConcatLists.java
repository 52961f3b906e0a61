package dev.millrace.ops.rearrange;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Gradient;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.StridedCopy;
import java.util.List;

/** Values of one row each, joined to a tensor of a shape that is known; and a promise kept. */
final class ConcatLists {
  static final Op PARALLEL_CONCAT =
      Op.define("ParallelConcat")
          .attr("N: int >= 1")
          .attr("T: type")
          .attr("shape: shape")
          .input("values: N * T")
          .output("output: T")
          .shape(
              c -> {
                Shape s = c.node().shapeAttr("shape");
                if (!s.isKnown()) {
                  throw MillraceException.invalid("All dims of the shape must be known: %s", s);
                }
                if (s.rank() == 0) {
                  throw MillraceException.invalid("The shape must have a dimension of rows.");
                }
                return List.of(s);
              })
          .kernel(ConcatLists::concat)
          .gradient(Gradient.undefined("TensorFlow defines none"))
          .build();

  /** Hands its input on; that it never changes is of use to compilers alone. */
  static final Op GUARANTEE_CONST =
      Op.define("GuaranteeConst")
          .attr("T: type")
          .input("input: T")
          .output("output: T")
          .stateful()
          .shape(Shapes.like(0))
          .kernel(c -> c.output(0, Refs.retain(c.input(0))))
          .gradient(g -> g.dx(0, g.dy()))
          .build();

  static final List<Op> ALL = List.of(PARALLEL_CONCAT, GUARANTEE_CONST);

  private ConcatLists() {}

  private static void concat(KernelContext c) {
    Shape s = c.node().shapeAttr("shape");
    Shape row = s.slice(1, s.rank());
    if (s.dim(0) != c.inputCount()) {
      throw MillraceException.invalid(
          "ParallelConcat of %d rows cannot have the shape %s.", c.inputCount(), s);
    }
    Tensor out = c.allocate(0, s);
    for (int i = 0; i < c.inputCount(); i++) {
      Tensor t = c.input(i);
      if (!t.shape().equals(Shape.of(1).concat(row))) {
        throw MillraceException.invalid(
            "ParallelConcat: value %d has shape %s, need %s",
            i, t.shape(), Shape.of(1).concat(row));
      }
      StridedCopy.copyRun(t, 0, out, i * row.elements(), row.elements());
    }
  }
}
