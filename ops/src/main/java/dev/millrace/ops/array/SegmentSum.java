package dev.millrace.ops.array;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.GradientContext;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.ShapeContext;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.Rows;
import java.util.List;

/** Sums of the rows that belong to the same segment. */
public final class SegmentSum {
  /** Segments in any order, their number given; a negative segment id drops the row. */
  public static final Op UNSORTED =
      Op.define("UnsortedSegmentSum")
          .attr("T: numbertype")
          .attr("Tindices: {int16, int32, int64}")
          .attr("Tnumsegments: {int32, int64} = int32")
          .input("data: T")
          .input("segment_ids: Tindices")
          .input("num_segments: Tnumsegments")
          .output("output: T")
          .shape(SegmentSum::inferUnsorted)
          .kernelPerNode(node -> kernel(node, SegmentSum::unsorted))
          .gradient(SegmentSum::unsortedGradient)
          .build();

  /** Segment ids that do not fall, of which the last gives the number. */
  public static final Op OP =
      Op.define("SegmentSum")
          .attr("T: numbertype")
          .attr("Tindices: {int32, int64}")
          .input("data: T")
          .input("segment_ids: Tindices")
          .output("output: T")
          .shape(
              c -> {
                c.inputOfRank(1, 1);
                Shape data = c.input(0);
                if (data.isScalar()) {
                  throw MillraceException.invalid(
                      "input 0 ('%s') must have rows; it is a scalar.", c.node().input(0).name());
                }
                return List.of(data.withDim(0, Shape.UNKNOWN));
              })
          .kernelPerNode(node -> kernel(node, SegmentSum::sorted))
          .gradient(g -> g.dx(0, Gather.of(g.scope(), g.dy(), g.input(1))))
          .build();

  private SegmentSum() {}

  /** For each segment 0 to {@code number - 1} the sum of the rows of {@code data} with that id. */
  public static Output unsorted(Scope scope, Output data, Output ids, Output number) {
    return scope.add(UNSORTED, data, ids, number).output();
  }

  private static List<Shape> inferUnsorted(ShapeContext c) {
    Shape data = c.input(0);
    Shape ids = c.input(1);
    Tensor number = c.constant(2);
    if (!data.hasRank() || !ids.hasRank()) {
      return List.of(Shape.unknown());
    }
    checkPrefix(data, ids);
    long n = number == null ? Shape.UNKNOWN : Axis.single(number, "num_segments");
    return List.of(Shape.of(n).concat(data.slice(ids.rank(), data.rank())));
  }

  private static void checkPrefix(Shape data, Shape ids) {
    if (ids.rank() > data.rank() || !data.slice(0, ids.rank()).isCompatibleWith(ids)) {
      throw MillraceException.invalid(
          "data.shape = %s does not start with segment_ids.shape = %s", data, ids);
    }
  }

  private static Kernel kernel(Node node, Kernel kernel) {
    DType type = node.output(0).dtype();
    if (!DType.NUMERIC.contains(type)) {
      throw new MillraceException(
          Code.UNIMPLEMENTED,
          node.op().name() + " '" + node.name() + "' cannot add " + type + " here.");
    }
    return kernel;
  }

  private static void unsorted(KernelContext c) {
    Tensor data = c.input(0);
    Tensor ids = c.input(1);
    checkPrefix(data.shape(), ids.shape());
    long n = Axis.single(c.input(2), "num_segments");
    if (n < 0) {
      throw MillraceException.invalid("Input num_segments == %d must not be negative.", n);
    }
    for (long i = 0; i < ids.elements(); i++) {
      if (ids.longAt(i) >= n) {
        throw MillraceException.invalid(
            "segment_ids[%s] = %d is out of range [0, %d)",
            Gather.position(ids.shape(), i), ids.longAt(i), n);
      }
    }
    Shape row = data.shape().slice(ids.shape().rank(), data.shape().rank());
    Tensor out = c.allocate(0, Shape.of(n).concat(row));
    ZerosLike.clear(out);
    Rows.add(out, ids, data, row.elements());
  }

  private static void sorted(KernelContext c) {
    Tensor data = c.input(0);
    Tensor ids = c.input(1);
    Shape s = data.shape();
    if (ids.shape().rank() != 1 || s.rank() < 1 || s.dim(0) != ids.elements()) {
      throw MillraceException.invalid(
          "segment_ids should be the same size as dimension 0 of input; they are %s and %s.",
          ids.shape(), s);
    }
    long n = 0;
    for (long i = 0; i < ids.elements(); i++) {
      long id = ids.longAt(i);
      if (id < 0 || id < n - 1) {
        throw MillraceException.invalid(
            "segment ids must be >= 0 and increasing; id %d is %d", i, id);
      }
      n = id + 1;
    }
    Shape row = s.slice(1, s.rank());
    Tensor out = c.allocate(0, Shape.of(n).concat(row));
    ZerosLike.clear(out);
    Rows.add(out, ids, data, row.elements());
  }

  /** Each row gets the gradient of its segment; a row that was dropped gets zeros. */
  private static void unsortedGradient(GradientContext g) {
    Scope s = g.scope();
    Output ids = g.input(1);
    Output zero = Const.of(s, ids.dtype(), 0);
    Output gathered = Gather.of(s, g.dy(), MathNodes.maximum(s, ids, zero));
    Output counted = MathNodes.greaterEqual(s, ids, zero);
    // The condition needs a dimension of 1 for each that a row has.
    Output data = g.input(0);
    Output extra = MathNodes.sub(s, ShapeOf.rank(s, data), ShapeOf.rank(s, ids));
    Output ones = Fill.of(s, ExpandDims.of(s, extra, 0), Const.of(s, 1));
    Output shape = Concat.of(s, List.of(ShapeOf.of(s, ids), ones), 0);
    Output condition = Reshape.of(s, counted, shape);
    Output dx = Select.of(s, condition, gathered, Const.of(s, g.dy().dtype(), 0));
    dx.refineShape(data.shape());
    g.dx(0, dx);
  }
}
