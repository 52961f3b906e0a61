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
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Fill;
import dev.millrace.ops.array.Gather;
import dev.millrace.ops.array.SegmentSum;
import dev.millrace.ops.array.Select;
import dev.millrace.ops.array.ShapeOf;
import dev.millrace.ops.array.StridedSlice;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.math.Cast;
import dev.millrace.ops.math.Comparisons;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.StridedCopy;
import java.util.List;

/** Segments whose ids do not fall; the last id gives their number. */
final class SortedSegments {
  static final Op MAX = define("SegmentMax", "realnumbertype", SegmentFold.MAX, false);
  static final Op MIN = define("SegmentMin", "realnumbertype", SegmentFold.MIN, false);
  static final Op PROD = define("SegmentProd", "numbertype", SegmentFold.PROD, false);
  static final Op MEAN = define("SegmentMean", "numbertype", SegmentFold.SUM, true);

  private SortedSegments() {}

  private static Op define(String name, String types, SegmentFold fold, boolean isMean) {
    Gradient gradient =
        isMean
            ? SortedSegments::meanGradient
            : fold == SegmentFold.PROD
                ? g -> UnsortedSegments.prodGradient(g, SortedSegments::numberOf)
                : SortedSegments::extremumGradient;
    return Op.define(name)
        .attr("T: " + types)
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
              return List.of(data.hasRank() ? data.withDim(0, Shape.UNKNOWN) : data);
            })
        .kernelPerNode(node -> kernel(node, fold, isMean))
        .gradient(gradient)
        .build();
  }

  private static Kernel kernel(Node node, SegmentFold fold, boolean isMean) {
    SegmentFold.requireType(node);
    return c -> compute(c, fold, isMean);
  }

  private static void compute(KernelContext c, SegmentFold fold, boolean isMean) {
    Tensor data = c.input(0);
    Tensor ids = c.input(1);
    Shape s = data.shape();
    if (ids.shape().rank() != 1 || s.rank() < 1 || s.dim(0) != ids.elements()) {
      throw MillraceException.invalid(
          "segment_ids should be the same size as dimension 0 of input; they are %s and %s.",
          ids.shape(), s);
    }
    long rows = ids.elements();
    long n = rows == 0 ? 0 : ids.longAt(rows - 1) + 1;
    checkOrder(ids);
    Tensor out = c.allocate(0, Shape.of(n).concat(s.slice(1, s.rank())));
    for (long i = 0; i < out.elements(); i++) {
      SegmentFold.put(out, i, fold == SegmentFold.PROD ? 1 : 0);
    }
    long length = s.slice(1, s.rank()).elements();
    for (long from = 0, to; from < rows; from = to) {
      long id = ids.longAt(from);
      StridedCopy.copyRun(data, from * length, out, id * length, length);
      for (to = from + 1; to < rows && ids.longAt(to) == id; to++) {
        fold.take(out, id * length, data, to * length, length);
      }
      for (long k = id * length; isMean && k < (id + 1) * length; k++) {
        SegmentFold.divide(out, k, to - from);
      }
    }
  }

  private static void checkOrder(Tensor ids) {
    long last = 0;
    for (long i = 0; i < ids.elements(); i++) {
      long id = ids.longAt(i);
      if (id < 0) {
        throw MillraceException.invalid("segment ids must be >= 0");
      }
      if (id < last) {
        throw MillraceException.invalid("segment ids are not increasing");
      }
      last = id;
    }
  }

  private static Output numberOf(GradientContext g) {
    return StridedSlice.at(g.scope(), ShapeOf.of(g.scope(), g.output(0)), 0);
  }

  private static void meanGradient(GradientContext g) {
    Scope s = g.scope();
    Output ids = g.input(1);
    Output one = Const.of(s, g.dy().dtype(), 1);
    Output counts = s.add(SegmentSum.OP, Fill.of(s, ShapeOf.of(s, ids), one), ids).output();
    // A segment without rows is never gathered; 1 keeps its quotient finite.
    Output divisor = Arithmetic.maximum(s, counts, one);
    Output scaled = Arithmetic.realDiv(s, g.dy(), UnsortedSegments.beside(s, divisor, g.dy()));
    g.dx(0, Gather.of(s, scaled, ids));
  }

  /** What is equal to the extremum shares its gradient. */
  private static void extremumGradient(GradientContext g) {
    Scope s = g.scope();
    Output ids = g.input(1);
    Output chosen = Comparisons.equal(s, g.input(0), Gather.of(s, g.output(0), ids));
    Output ones = Cast.of(s, chosen, g.dy().dtype());
    Output counts = s.add(SegmentSum.OP, ones, ids).output();
    Output shared = Arithmetic.realDiv(s, g.dy(), counts);
    Output zero = Const.of(s, g.dy().dtype(), 0);
    g.dx(0, Select.of(s, chosen, Gather.of(s, shared, ids), zero));
  }
}
