package dev.millrace.ops.array;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Gradient;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Scope;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.StridedCopy;
import java.util.List;

/** The distinct elements of a vector in order of appearance, and for each element which it is. */
public final class Unique {
  public static final Op OP =
      Op.define("Unique")
          .attr("T: type")
          .attr("out_idx: {int32, int64} = int32")
          .input("x: T")
          .output("y: T")
          .output("idx: out_idx")
          .shape(c -> List.of(Shape.of(Shape.UNKNOWN), c.inputOfRank(0, 1)))
          .kernelPerNode(
              node -> {
                Distinct.check(node);
                return c -> compute(c, false);
              })
          .gradient(Gradient.undefined("TensorFlow defines none"))
          .build();

  /** Also how often each occurs. */
  public static final Op WITH_COUNTS =
      Op.define("UniqueWithCounts")
          .attr("T: type")
          .attr("out_idx: {int32, int64} = int32")
          .input("x: T")
          .output("y: T")
          .output("idx: out_idx")
          .output("count: out_idx")
          .shape(
              c -> List.of(Shape.of(Shape.UNKNOWN), c.inputOfRank(0, 1), Shape.of(Shape.UNKNOWN)))
          .kernelPerNode(
              node -> {
                Distinct.check(node);
                return c -> compute(c, true);
              })
          .gradient(Gradient.undefined("TensorFlow defines none"))
          .build();

  private Unique() {}

  /** Output 0 holds the distinct elements of {@code x}, output 1 which of them each one is. */
  public static Node of(Scope scope, dev.millrace.graph.Output x) {
    return scope.add(OP, x);
  }

  private static void compute(KernelContext c, boolean counts) {
    Tensor x = c.input(0);
    if (x.shape().rank() != 1) {
      throw MillraceException.invalid("unique expects a 1D vector; the input is %s.", x.shape());
    }
    int n = Math.toIntExact(x.elements());
    Tensor idx = c.allocate(1, x.shape());
    Distinct seen = new Distinct(n);
    int[] first = new int[n];
    int[] count = new int[n];
    for (int i = 0; i < n; i++) {
      int before = seen.size();
      int k = seen.add(x, i);
      if (k == before) {
        first[k] = i;
      }
      count[k]++;
      idx.setLong(i, k);
    }
    Tensor y = c.allocate(0, Shape.of(seen.size()));
    for (int k = 0; k < seen.size(); k++) {
      StridedCopy.copyRun(x, first[k], y, k, 1);
    }
    if (counts) {
      Tensor out = c.allocate(2, y.shape());
      for (int k = 0; k < seen.size(); k++) {
        out.setLong(k, count[k]);
      }
    }
  }
}
