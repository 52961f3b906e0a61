package dev.millrace.ops.array;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;

/**
 * Of two shapes that are broadcast against each other: the dimensions of the result over which the
 * gradient of each is to be summed.
 */
public final class BroadcastGradientArgs {
  public static final Op OP =
      Op.define("BroadcastGradientArgs")
          .attr("T: {int32, int64} = int32")
          .input("s0: T")
          .input("s1: T")
          .output("r0: T")
          .output("r1: T")
          .shape(c -> List.of(Shape.of(Shape.UNKNOWN), Shape.of(Shape.UNKNOWN)))
          .kernel(BroadcastGradientArgs::compute)
          .noGradient("it depends on shapes alone")
          .build();

  /** The shape two shapes are broadcast to. */
  public static final Op SHAPE =
      Op.define("BroadcastArgs")
          .attr("T: {int32, int64} = int32")
          .input("s0: T")
          .input("s1: T")
          .output("r0: T")
          .shape(
              c -> {
                Shape a = c.inputOfRank(0, 1);
                Shape b = c.inputOfRank(1, 1);
                return List.of(
                    Shape.of(a.dim(0) < 0 || b.dim(0) < 0 ? -1 : Math.max(a.dim(0), b.dim(0))));
              })
          .kernel(
              c -> {
                Shape s = Shape.broadcast(vector(c, 0), vector(c, 1));
                write(c, 0, java.util.Arrays.stream(s.dims()).boxed().toList());
              })
          .noGradient("it depends on shapes alone")
          .build();

  private BroadcastGradientArgs() {}

  private static Shape vector(KernelContext c, int i) {
    if (c.input(i).shape().rank() != 1) {
      throw MillraceException.invalid(
          "In[%d] must be a vector, but got shape %s", i, c.input(i).shape());
    }
    return Axis.shape(c.input(i));
  }

  private static void compute(KernelContext c) {
    Shape a = vector(c, 0);
    Shape b = vector(c, 1);
    List<Long> forA = new ArrayList<>();
    List<Long> forB = new ArrayList<>();
    if (!a.equals(b)) {
      int rank = Shape.broadcast(a, b).rank();
      for (int i = rank; i >= 1; i--) {
        long x = i <= a.rank() ? a.dim(-i) : 1;
        long y = i <= b.rank() ? b.dim(-i) : 1;
        if (x == 1) {
          forA.add((long) rank - i);
        }
        if (y == 1) {
          forB.add((long) rank - i);
        }
      }
    }
    write(c, 0, forA);
    write(c, 1, forB);
  }

  private static void write(KernelContext c, int i, List<Long> values) {
    Tensor t = c.allocate(i, Shape.of(values.size()));
    for (int k = 0; k < values.size(); k++) {
      t.setLong(k, values.get(k));
    }
  }
}
