package dev.millrace.ops.array;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.op.GradientContext;
import dev.millrace.graph.op.KernelContext;
import dev.millrace.graph.op.Op;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.math.Cast;
import dev.millrace.ops.math.Reduction;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.Parallel;
import dev.millrace.tensor.math.StridedCopy;
import java.util.List;
import java.util.PriorityQueue;

/** The k largest elements of each row and where they stand; of equals the first comes first. */
public final class TopK {
  public static final Op OP =
      Op.define("TopKV2")
          .attr("sorted: bool = true")
          .attr("T: realnumbertype")
          .attr("Tk: {int16, int32, int64} = int32")
          .attr("index_type: {int16, int32, int64} = int32")
          .input("input: T")
          .input("k: Tk")
          .output("values: T")
          .output("indices: index_type")
          .shape(
              c -> {
                Tensor k = c.constant(1);
                return shapes(c.input(0), k == null ? Shape.UNKNOWN : Axis.single(k, "k"));
              })
          .kernel(c -> compute(c, Axis.single(c.input(1), "k")))
          .gradient(TopK::gradient)
          .build();

  private TopK() {}

  /** Output 0 holds the values, output 1 the indices. */
  public static Node of(Scope scope, Output input, int k) {
    return scope.add(OP, input, Const.of(scope, k));
  }

  private static List<Shape> shapes(Shape in, long k) {
    if (!in.hasRank()) {
      return List.of(in, in);
    }
    check(in, k);
    Shape s = in.withDim(-1, k);
    return List.of(s, s);
  }

  private static void check(Shape in, long k) {
    if (in.rank() < 1) {
      throw MillraceException.invalid("input must be >= 1-D, got shape %s", in);
    }
    if (k < -1 || (in.dim(-1) >= 0 && in.dim(-1) < k)) {
      throw MillraceException.invalid(
          "input must have at least k columns and k be >= 0. Had %d, needed %d", in.dim(-1), k);
    }
  }

  private static void compute(KernelContext c, long k) {
    Tensor x = c.input(0);
    check(x.shape(), k);
    if (k < 0) {
      throw MillraceException.invalid("Need k >= 0, got %d", k);
    }
    Shape s = x.shape().withDim(-1, k);
    Tensor values = c.allocate(0, s);
    Tensor indices = c.allocate(1, s);
    if (s.elements() == 0) {
      return;
    }
    long n = x.shape().dim(-1);
    Parallel.run(
        x.elements() / n,
        1 + (1 << 14) / n,
        (from, to) -> {
          for (long row = from; row < to; row++) {
            row(x, row * n, n, (int) k, values, indices, row * k);
          }
        });
  }

  /** Keeps the best k so far with the worst of them on top. */
  private static void row(
      Tensor x, long start, long n, int k, Tensor values, Tensor indices, long out) {
    boolean real = x.dtype().isFloating();
    PriorityQueue<Long> best =
        new PriorityQueue<>(k + 1, (a, b) -> better(x, real, start + b, start + a));
    for (long i = 0; i < n; i++) {
      if (best.size() < k) {
        best.add(i);
      } else if (better(x, real, start + i, start + best.peek()) < 0) {
        best.poll();
        best.add(i);
      }
    }
    for (int j = k - 1; j >= 0; j--) {
      long i = best.poll();
      StridedCopy.copyRun(x, start + i, values, out + j, 1);
      indices.setLong(out + j, i);
    }
  }

  /** Negative if element {@code a} comes before {@code b}. */
  private static int better(Tensor x, boolean real, long a, long b) {
    int order =
        real
            ? Double.compare(x.doubleAt(b), x.doubleAt(a))
            : x.dtype() == DType.UINT64
                ? Long.compareUnsigned(x.longAt(b), x.longAt(a))
                : Long.compare(x.longAt(b), x.longAt(a));
    return order != 0 ? order : Long.compare(a, b);
  }

  /** Each value goes back to where it stood: positions counted through all rows, and added up. */
  private static void gradient(GradientContext g) {
    Scope s = g.scope();
    Output x = g.input(0);
    Output shape = ShapeOf.known(s, x);
    Output flat = Const.ints(s, -1);
    Output width = StridedSlice.at(s, shape, -1);
    Output indices = Cast.of(s, g.output(1), DType.INT32);
    Output found = StridedSlice.range(s, ShapeOf.of(s, indices), -1, null);
    Output table = Reshape.of(s, indices, Concat.of(s, List.of(flat, found), 0));
    Output rows = StridedSlice.at(s, ShapeOf.of(s, table), 0);
    Output starts = ExpandDims.of(s, Arithmetic.mul(s, Range.of(s, rows), width), 1);
    Output places = Reshape.of(s, Arithmetic.add(s, table, starts), flat);
    Output all = Reduction.of(s, Reduction.PROD, shape, Const.ints(s, 0), false);
    Output sum = SegmentSum.unsorted(s, Reshape.of(s, g.dy(), flat), places, all);
    g.dx(0, Reshape.of(s, sum, shape));
  }
}
