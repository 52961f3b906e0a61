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
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;

/** A tensor cut along a dimension into equal parts, or (SplitV) into parts of given sizes. */
public final class Split {
  public static final Op OP =
      Op.define("Split")
          .attr("num_split: int >= 1")
          .attr("T: type")
          .input("split_dim: int32")
          .input("value: T")
          .output("output: num_split * T")
          .shape(Split::infer)
          .kernel(
              c -> {
                Shape in = c.input(1).shape();
                int at = Axis.of(c.input(0), in.rank());
                cut(c, c.input(1), at, equal(in, at, c.node().outputCount()));
              })
          .gradient(g -> gradient(g, 0, 1))
          .build();

  /** Into parts of given sizes, of which one may be -1: the rest. */
  public static final Op V =
      Op.define("SplitV")
          .attr("num_split: int >= 1")
          .attr("T: type")
          .attr("Tlen: {int8, int32, int64} = int64")
          .input("value: T")
          .input("size_splits: Tlen")
          .input("split_dim: int32")
          .output("output: num_split * T")
          .shape(Split::inferV)
          .kernel(
              c -> {
                Shape in = c.input(0).shape();
                int at = Axis.of(c.input(2), in.rank());
                cut(c, c.input(0), at, sizes(in.dim(at), c.input(1), c.node().outputCount()));
              })
          .gradient(g -> gradient(g, 2, 0))
          .build();

  private Split() {}

  /** {@code n} equal parts along dimension {@code axis}. */
  public static List<Output> of(Scope scope, Output value, int n, int axis) {
    return scope
        .node(OP)
        .input(Const.of(scope, axis))
        .input(value)
        .attr("num_split", n)
        .add()
        .outputs();
  }

  /** Parts of these sizes along dimension {@code axis}. */
  public static List<Output> of(Scope scope, Output value, long[] sizes, int axis) {
    return of(scope, value, sizes, Const.of(scope, axis));
  }

  static List<Output> of(Scope scope, Output value, long[] sizes, Output axis) {
    return scope
        .node(V)
        .input(value)
        .input(Const.of(scope, Tensor.vector(sizes)))
        .input(axis)
        .attr("num_split", sizes.length)
        .add()
        .outputs();
  }

  private static List<Shape> infer(ShapeContext c) {
    int n = c.node().outputCount();
    Shape in = c.input(1);
    Tensor axis = c.constant(0);
    if (!in.hasRank() || axis == null) {
      return Collections.nCopies(n, in.hasRank() ? Shape.unknownOfRank(in.rank()) : in);
    }
    int at = Axis.of(axis, in.rank());
    long size = in.dim(at) < 0 ? Shape.UNKNOWN : equal(in, at, n)[0];
    return Collections.nCopies(n, in.withDim(at, size));
  }

  private static List<Shape> inferV(ShapeContext c) {
    int n = c.node().outputCount();
    Shape in = c.input(0);
    Tensor sizes = c.constant(1);
    Tensor axis = c.constant(2);
    if (!in.hasRank() || axis == null) {
      return Collections.nCopies(n, in.hasRank() ? Shape.unknownOfRank(in.rank()) : in);
    }
    int at = Axis.of(axis, in.rank());
    if (sizes == null) {
      return Collections.nCopies(n, in.withDim(at, Shape.UNKNOWN));
    }
    return Arrays.stream(sizes(in.dim(at), sizes, n)).mapToObj(s -> in.withDim(at, s)).toList();
  }

  private static long[] equal(Shape in, int at, int n) {
    if (in.dim(at) % n != 0) {
      throw MillraceException.invalid(
          "Number of ways to split should evenly divide the split dimension, but got split_dim %d"
              + " (size = %d) and num_split %d",
          at, in.dim(at), n);
    }
    long[] sizes = new long[n];
    Arrays.fill(sizes, in.dim(at) / n);
    return sizes;
  }

  /** The sizes meant; -1 is left only where {@code total} is not known. */
  private static long[] sizes(long total, Tensor given, int n) {
    if (given.shape().rank() != 1 || given.elements() != n) {
      throw MillraceException.invalid(
          "size_splits must be a vector of num_split = %d sizes; it has shape %s.",
          n, given.shape());
    }
    long[] sizes = given.toLongs();
    int open = -1;
    long sum = 0;
    for (int i = 0; i < n; i++) {
      if (sizes[i] == -1 && open < 0) {
        open = i;
      } else if (sizes[i] < 0) {
        throw MillraceException.invalid(
            "size_splits[%d] is %d; sizes must be 0 or more, and one of them may be -1.",
            i, sizes[i]);
      } else {
        sum = Math.addExact(sum, sizes[i]);
      }
    }
    if (total >= 0) {
      if (open < 0 ? sum != total : sum > total) {
        throw MillraceException.invalid(
            "the sizes %s add up to %d; the split dimension is %d.",
            Arrays.toString(sizes), sum, total);
      }
      if (open >= 0) {
        sizes[open] = total - sum;
      }
    }
    return sizes;
  }

  private static void cut(KernelContext c, Tensor in, int at, long[] sizes) {
    Shape s = in.shape();
    long outer = s.slice(0, at).elements();
    long inner = s.slice(at + 1, s.rank()).elements();
    long start = 0;
    for (int i = 0; i < sizes.length; i++) {
      Tensor out = c.allocate(i, s.withDim(at, sizes[i]));
      long run = sizes[i] * inner;
      Runs.interleave(outer, run, in, start, s.dim(at) * inner, out, 0, run);
      start += run;
    }
  }

  private static void gradient(GradientContext g, int axis, int value) {
    List<Output> dys = IntStream.range(0, g.node().outputCount()).mapToObj(g::dy).toList();
    g.dx(
        value,
        dys.size() == 1
            ? dys.getFirst()
            : g.scope().node(Concat.OP).inputs(dys).input(g.input(axis)).add().output());
  }
}
