package dev.millrace.ops.array;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.StridedCopy;

/** A tensor turned round along some of its dimensions. */
public final class Reverse {
  public static final Op OP =
      Op.define("ReverseV2")
          .attr("Tidx: {int32, int64} = int32")
          .attr(
              "T: {uint8, int8, uint16, int16, int32, uint32, int64, uint64, bool, bfloat16, half,"
                  + " float, double, complex64, complex128, string}")
          .input("tensor: T")
          .input("axis: Tidx")
          .output("output: T")
          .shape(Shapes.like(0))
          .kernel(Reverse::compute)
          .gradient(g -> g.dx(0, of(g.scope(), g.dy(), g.input(1))))
          .build();

  private Reverse() {}

  /** {@code tensor} with the order along each of {@code axes} turned round. */
  public static Output of(Scope scope, Output tensor, Output axes) {
    return scope.add(OP, tensor, axes).output();
  }

  private static void compute(KernelContext c) {
    Tensor x = c.input(0);
    int rank = x.shape().rank();
    long[] dims = x.shape().dims();
    long[] src = StridedCopy.rowMajor(dims);
    long[] dst = src.clone();
    boolean[] turned = new boolean[rank];
    long start = 0;
    for (long i = 0; i < c.input(1).elements(); i++) {
      int axis = Axis.of(c.input(1).longAt(i), rank);
      if (turned[axis]) {
        throw MillraceException.invalid("axis %d specified more than once.", axis);
      }
      turned[axis] = true;
      start += (dims[axis] - 1) * src[axis];
      src[axis] = -src[axis];
    }
    StridedCopy.copy(dims, x, start, src, c.allocate(0, x.shape()), 0, dst);
  }
}
