package dev.millrace.ops.segment;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Gradient;
import dev.millrace.graph.GradientContext;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.ShapeContext;
import dev.millrace.ops.array.Axis;
import dev.millrace.ops.array.Concat;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.ExpandDims;
import dev.millrace.ops.array.Fill;
import dev.millrace.ops.array.Gather;
import dev.millrace.ops.array.Reshape;
import dev.millrace.ops.array.SegmentSum;
import dev.millrace.ops.array.Select;
import dev.millrace.ops.array.ShapeOf;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.math.Cast;
import dev.millrace.ops.math.Comparisons;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.function.Function;

/** Segments in any order, their number given; a negative id drops the row. */
final class UnsortedSegments {
  static final Op MAX = define("UnsortedSegmentMax", "realnumbertype", SegmentFold.MAX);
  static final Op MIN = define("UnsortedSegmentMin", "realnumbertype", SegmentFold.MIN);
  static final Op PROD = define("UnsortedSegmentProd", "numbertype", SegmentFold.PROD);

  private UnsortedSegments() {}

  private static Op define(String name, String types, SegmentFold fold) {
    Gradient gradient =
        fold == SegmentFold.PROD
            ? g -> prodGradient(g, c -> c.input(2))
            : UnsortedSegments::extremumGradient;
    return Op.define(name)
        .attr("T: " + types)
        .attr("Tindices: {int32, int64}")
        .attr("Tnumsegments: {int32, int64} = int32")
        .input("data: T")
        .input("segment_ids: Tindices")
        .input("num_segments: Tnumsegments")
        .output("output: T")
        .shape(UnsortedSegments::infer)
        .kernelPerNode(node -> kernel(node, fold))
        .gradient(gradient)
        .build();
  }

  private static List<Shape> infer(ShapeContext c) {
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

  private static Kernel kernel(Node node, SegmentFold fold) {
    SegmentFold.requireType(node);
    return c -> compute(c, fold);
  }

  private static void compute(KernelContext c, SegmentFold fold) {
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
    long length = row.elements();
    Tensor out = c.allocate(0, Shape.of(n).concat(row));
    fold.fill(out);
    for (long i = 0; i < ids.elements(); i++) {
      if (ids.longAt(i) >= 0) {
        fold.take(out, ids.longAt(i) * length, data, i * length, length);
      }
    }
  }

  /** A tensor with a dimension of 1 for each that {@code other} has beyond those of {@code x}. */
  static Output beside(Scope s, Output x, Output other) {
    Output extra = Arithmetic.sub(s, ShapeOf.rank(s, other), ShapeOf.rank(s, x));
    Output ones = Fill.of(s, ExpandDims.of(s, extra, 0), Const.of(s, 1));
    return Reshape.of(s, x, Concat.of(s, List.of(ShapeOf.of(s, x), ones), 0));
  }

  /** The row of its segment for each id, that of segment 0 for those dropped. */
  private static Output gather(Scope s, Output rows, Output ids) {
    return Gather.of(s, rows, Arithmetic.maximum(s, ids, Const.of(s, ids.dtype(), 0)));
  }

  /** Whether each element of {@code data} belongs to a segment. */
  private static Output isCounted(Scope s, Output data, Output ids) {
    Output kept = Comparisons.greaterEqual(s, ids, Const.of(s, ids.dtype(), 0));
    return s.add(Comparisons.LOGICAL_AND, beside(s, kept, data), Comparisons.equal(s, data, data))
        .output();
  }

  private static void extremumGradient(GradientContext g) {
    Scope s = g.scope();
    Output ids = g.input(1);
    DType type = g.dy().dtype();
    Output equal = Comparisons.equal(s, g.input(0), gather(s, g.output(0), ids));
    Output chosen = s.add(Comparisons.LOGICAL_AND, equal, isCounted(s, g.input(0), ids)).output();
    Output counts = SegmentSum.unsorted(s, Cast.of(s, chosen, type), ids, g.input(2));
    Output one = Const.of(s, type, 1);
    Output shared = Arithmetic.realDiv(s, g.dy(), Arithmetic.maximum(s, counts, one));
    g.dx(0, Select.of(s, chosen, gather(s, shared, ids), Const.of(s, type, 0)));
  }

  /**
   * The product of the others: the whole over the element, and where a segment has one zero, the
   * product of the rest for that element and nothing for the others.
   */
  static void prodGradient(GradientContext g, Function<GradientContext, Output> number) {
    Scope s = g.scope();
    Output data = g.input(0);
    Output ids = g.input(1);
    Output n = number.apply(g);
    DType type = data.dtype();
    Output zero = Const.of(s, type, 0);
    Output one = Const.of(s, type, 1);
    Output isZero = Comparisons.equal(s, data, zero);
    Output zeros = SegmentSum.unsorted(s, Cast.of(s, isZero, type), ids, n);
    Output several = Comparisons.greater(s, zeros, one);
    Output dy = Select.of(s, several, zero, g.dy());
    Output rest = s.add(PROD, Select.of(s, isZero, one, data), ids, n).output();
    Output others =
        Select.of(
            s,
            isZero,
            gather(s, rest, ids),
            Arithmetic.realDiv(s, gather(s, g.output(0), ids), Select.of(s, isZero, one, data)));
    Output dx = Arithmetic.mul(s, gather(s, dy, ids), others);
    g.dx(0, Select.of(s, isCounted(s, data, ids), dx, zero));
  }
}
