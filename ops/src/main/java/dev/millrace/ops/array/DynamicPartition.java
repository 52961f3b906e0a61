package dev.millrace.ops.array;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.GradientContext;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.ShapeContext;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.StridedCopy;
import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;

/** The rows of a tensor dealt out: row i goes to output {@code partitions[i]}, in order. */
public final class DynamicPartition {
  public static final Op OP =
      Op.define("DynamicPartition")
          .attr("num_partitions: int >= 1")
          .attr("T: type")
          .input("data: T")
          .input("partitions: int32")
          .output("outputs: num_partitions * T")
          .shape(DynamicPartition::infer)
          .kernel(DynamicPartition::compute)
          .gradient(DynamicPartition::gradient)
          .build();

  private DynamicPartition() {}

  /**
   * The slices of {@code data} sorted into {@code number} outputs, by the number each has in {@code
   * partitions}; in each they keep their order.
   */
  public static List<Output> of(Scope scope, Output data, Output partitions, int number) {
    return scope
        .node(OP)
        .input(data)
        .input(partitions)
        .attr("num_partitions", number)
        .add()
        .outputs();
  }

  private static List<Shape> infer(ShapeContext c) {
    Shape data = c.input(0);
    Shape partitions = c.input(1);
    Shape out = Shape.unknown();
    if (data.hasRank() && partitions.hasRank()) {
      out = Shape.of(Shape.UNKNOWN).concat(row(data, partitions));
    }
    return Collections.nCopies(c.node().outputCount(), out);
  }

  private static Shape row(Shape data, Shape partitions) {
    if (partitions.rank() > data.rank()
        || !data.slice(0, partitions.rank()).isCompatibleWith(partitions)) {
      throw MillraceException.invalid(
          "data.shape must start with partitions.shape, got data.shape = %s, partitions.shape = %s",
          data, partitions);
    }
    return data.slice(partitions.rank(), data.rank());
  }

  private static void compute(KernelContext c) {
    Tensor data = c.input(0);
    Tensor partitions = c.input(1);
    Shape row = row(data.shape(), partitions.shape());
    long[] count = new long[c.node().outputCount()];
    for (long i = 0; i < partitions.elements(); i++) {
      long p = partitions.longAt(i);
      if (p < 0 || p >= count.length) {
        throw MillraceException.invalid(
            "partitions[%s] = %d is not in [0, %d)",
            Gather.position(partitions.shape(), i), p, count.length);
      }
      count[(int) p]++;
    }
    Tensor[] out = new Tensor[count.length];
    for (int p = 0; p < out.length; p++) {
      out[p] = c.allocate(p, Shape.of(count[p]).concat(row));
    }
    long length = row.elements();
    long[] next = new long[count.length];
    for (long i = 0; i < partitions.elements(); i++) {
      int p = (int) partitions.longAt(i);
      StridedCopy.copyRun(data, i * length, out[p], next[p]++ * length, length);
    }
  }

  /** Deals out the row numbers the same way, which says where each row of the gradient belongs. */
  private static void gradient(GradientContext g) {
    Scope s = g.scope();
    Output partitions = g.input(1);
    int n = g.node().outputCount();
    Output shape = ShapeOf.of(s, partitions);
    Output numbers =
        Reshape.of(s, Range.of(s, MathNodes.prod(s, shape, Const.ints(s, 0), false)), shape);
    List<Output> places = of(s, numbers, partitions, n);
    List<Output> dys = IntStream.range(0, n).mapToObj(g::dy).toList();
    Output rows = DynamicStitch.of(s, places, dys);
    g.dx(0, Reshape.of(s, rows, ShapeOf.known(s, g.input(0))));
  }
}
