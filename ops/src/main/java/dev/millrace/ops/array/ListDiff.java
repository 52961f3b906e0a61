package dev.millrace.ops.array;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Gradient;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.StridedCopy;
import java.util.ArrayList;
import java.util.List;

/** The elements of one vector that are not in another, in order, and where they stood. */
public final class ListDiff {
  public static final Op OP =
      Op.define("ListDiff")
          .attr("T: type")
          .attr("out_idx: {int32, int64} = int32")
          .input("x: T")
          .input("y: T")
          .output("out: T")
          .output("idx: out_idx")
          .shape(
              c -> {
                c.inputOfRank(0, 1);
                c.inputOfRank(1, 1);
                return List.of(Shape.of(Shape.UNKNOWN), Shape.of(Shape.UNKNOWN));
              })
          .kernelPerNode(ListDiff::kernel)
          .gradient(Gradient.undefined("TensorFlow defines none"))
          .build();

  private ListDiff() {}

  /** The elements of {@code x} that are not in {@code y}. */
  public static Output of(Scope scope, Output x, Output y) {
    return scope.add(OP, x, y).output(0);
  }

  private static Kernel kernel(Node node) {
    Distinct.check(node);
    return ListDiff::compute;
  }

  private static void compute(KernelContext c) {
    Tensor x = c.input(0);
    Tensor y = c.input(1);
    if (x.shape().rank() != 1 || y.shape().rank() != 1) {
      throw MillraceException.invalid(
          "x and y should be 1D vectors; they are %s and %s.", x.shape(), y.shape());
    }
    Distinct excluded = new Distinct(y.elements());
    for (long i = 0; i < y.elements(); i++) {
      excluded.add(y, i);
    }
    List<Long> kept = new ArrayList<>();
    for (long i = 0; i < x.elements(); i++) {
      if (!excluded.contains(x, i)) {
        kept.add(i);
      }
    }
    Tensor out = c.allocate(0, Shape.of(kept.size()));
    Tensor idx = c.allocate(1, Shape.of(kept.size()));
    for (int k = 0; k < kept.size(); k++) {
      StridedCopy.copyRun(x, kept.get(k), out, k, 1);
      idx.setLong(k, kept.get(k));
    }
  }
}
