package dev.millrace.ops.rearrange;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.ShapeContext;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.ops.math.Unary;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.StridedCopy;
import java.util.List;

/** The first elements of each sequence in the opposite order, and elements moved round a ring. */
final class SequenceOrder {
  static final Op REVERSE =
      Op.define("ReverseSequence")
          .attr("seq_dim: int")
          .attr("batch_dim: int = 0")
          .attr("T: type")
          .attr("Tlen: {int32, int64} = int64")
          .input("input: T")
          .input("seq_lengths: Tlen")
          .output("output: T")
          .shape(SequenceOrder::inferReverse)
          .kernel(SequenceOrder::reverse)
          .gradient(
              g ->
                  g.dx(
                      0,
                      g.scope()
                          .node("ReverseSequence")
                          .input(g.dy())
                          .input(g.input(1))
                          .attr("seq_dim", g.node().longAttr("seq_dim"))
                          .attr("batch_dim", g.node().longAttr("batch_dim"))
                          .add()
                          .output()))
          .build();

  static final Op ROLL =
      Op.define("Roll")
          .attr("T: type")
          .attr("Tshift: {int32, int64}")
          .attr("Taxis: {int32, int64}")
          .input("input: T")
          .input("shift: Tshift")
          .input("axis: Taxis")
          .output("output: T")
          .shape(Shapes.like(0))
          .kernel(SequenceOrder::roll)
          .gradient(
              g ->
                  g.dx(
                      0,
                      g.scope()
                          .node("Roll")
                          .input(g.dy())
                          .input(Unary.neg(g.scope(), g.input(1)))
                          .input(g.input(2))
                          .add()
                          .output()))
          .build();

  static final List<Op> ALL = List.of(REVERSE, ROLL);

  private SequenceOrder() {}

  private static List<Shape> inferReverse(ShapeContext c) {
    Shape s = c.input(0);
    Shape lengths = c.inputOfRank(1, 1);
    if (!s.hasRank()) {
      return List.of(s);
    }
    int batch = dimension(c.node().intAttr("batch_dim"), s, "batch_dim");
    dimension(c.node().intAttr("seq_dim"), s, "seq_dim");
    Shape rows = Shape.of(s.dim(batch)).mergeWith(Shape.of(lengths.dim(0)));
    return List.of(s.withDim(batch, rows.dim(0)));
  }

  private static int dimension(int d, Shape s, String name) {
    if (d >= s.rank() || d < 0) {
      throw MillraceException.invalid("%s must be < input rank %d: it is %d", name, s.rank(), d);
    }
    return d;
  }

  private static void reverse(KernelContext c) {
    Tensor x = c.input(0);
    Tensor lengths = c.input(1);
    Shape s = x.shape();
    int batch = dimension(c.node().intAttr("batch_dim"), s, "batch_dim");
    int sequence = dimension(c.node().intAttr("seq_dim"), s, "seq_dim");
    if (batch == sequence) {
      throw MillraceException.invalid("batch_dim == seq_dim == %d", batch);
    }
    if (lengths.shape().rank() != 1 || lengths.elements() != s.dim(batch)) {
      throw MillraceException.invalid(
          "Length of seq_lengths != input.dims(%d), (%d vs. %d)",
          batch, lengths.elements(), s.dim(batch));
    }
    for (long i = 0; i < lengths.elements(); i++) {
      if (lengths.longAt(i) < 0 || lengths.longAt(i) > s.dim(sequence)) {
        throw MillraceException.invalid(
            "seq_lengths(%d) = %d is not between 0 and input.dims(%d) = %d",
            i, lengths.longAt(i), sequence, s.dim(sequence));
      }
    }
    Tensor y = c.allocate(0, s);
    long[] strides = StridedCopy.rowMajor(s.dims());
    int last = Math.max(batch, sequence);
    // Behind the later of the two dimensions elements stay together.
    long run = s.slice(last + 1, s.rank()).elements();
    for (long i = 0; run > 0 && i < x.elements() / run; i++) {
      long at = i * run;
      long row = at / strides[batch] % s.dim(batch);
      long k = at / strides[sequence] % s.dim(sequence);
      long n = lengths.longAt(row);
      long from = k < n ? at + (n - 1 - 2 * k) * strides[sequence] : at;
      StridedCopy.copyRun(x, from, y, at, run);
    }
  }

  private static void roll(KernelContext c) {
    Tensor x = c.input(0);
    Tensor shift = c.input(1);
    Tensor axis = c.input(2);
    Shape s = x.shape();
    if (s.rank() < 1 || shift.shape().rank() > 1 || axis.shape().rank() > 1) {
      throw MillraceException.invalid(
          "input must be 1-D or higher, shift and axis scalars or vectors: %s, %s, %s",
          s, shift.shape(), axis.shape());
    }
    if (!shift.shape().equals(axis.shape())) {
      throw MillraceException.invalid(
          "shift and axis must have the same size: %s, %s", shift.shape(), axis.shape());
    }
    long[] by = new long[s.rank()];
    for (long i = 0; i < axis.elements(); i++) {
      long d = axis.longAt(i) < 0 ? axis.longAt(i) + s.rank() : axis.longAt(i);
      if (d < 0 || d >= s.rank()) {
        throw MillraceException.invalid("axis %d is out of range", axis.longAt(i));
      }
      long size = Math.max(1, s.dim((int) d));
      by[(int) d] = Math.floorMod(by[(int) d] + Math.floorMod(shift.longAt(i), size), size);
    }
    Tensor y = c.allocate(0, s);
    long row = s.dim(-1);
    int last = s.rank() - 1;
    for (long r = 0; row > 0 && r < x.elements() / row; r++) {
      long to = 0;
      long rest = r;
      long stride = row;
      for (int d = last - 1; d >= 0; d--) {
        to += (rest % s.dim(d) + by[d]) % s.dim(d) * stride;
        stride *= s.dim(d);
        rest /= s.dim(d);
      }
      StridedCopy.copyRun(x, r * row, y, to + by[last], row - by[last]);
      StridedCopy.copyRun(x, r * row + row - by[last], y, to, by[last]);
    }
  }
}
