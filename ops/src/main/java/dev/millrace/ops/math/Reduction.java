package dev.millrace.ops.math;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.ShapeContext;
import dev.millrace.ops.array.Axis;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.LastShape;
import dev.millrace.ops.array.Range;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.reduce.Fold;
import java.util.List;

/** Folds of a tensor over some of its dimensions, which go away or stay with size 1. */
public final class Reduction {
  private static final String NUMBER = "T: numbertype";
  private static final String ORDERED =
      "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64,"
          + " qint8, quint8, qint32, qint16, quint16}";

  public static final Op SUM =
      define("Sum", NUMBER, Fold.SUM).gradient(g -> g.dx(0, ReductionGradient.spread(g))).build();
  public static final Op MEAN =
      define("Mean", NUMBER, Fold.MEAN).gradient(ReductionGradient::ofMean).build();
  public static final Op PROD =
      define("Prod", NUMBER, Fold.PROD).gradient(ReductionGradient::ofProd).build();
  public static final Op MAX =
      define("Max", ORDERED, Fold.MAX).gradient(ReductionGradient::ofExtremum).build();
  public static final Op MIN =
      define("Min", ORDERED, Fold.MIN).gradient(ReductionGradient::ofExtremum).build();
  public static final Op ALL_TRUE = logical("All", Fold.ALL);
  public static final Op ANY_TRUE = logical("Any", Fold.ANY);

  static final List<Op> ALL = List.of(SUM, MEAN, PROD, MAX, MIN, ALL_TRUE, ANY_TRUE);

  private Reduction() {}

  /** Adds {@code op}, one of this class, over {@code axes}. */
  public static Output of(Scope scope, Op op, Output x, Output axes, boolean keepDims) {
    return scope.node(op).input(x).input(axes).attr("keep_dims", keepDims).add().output();
  }

  /** The sums along {@code axes}, which stay as dimensions of size 1 if {@code keepDims}. */
  public static Output sum(Scope scope, Output x, Output axes, boolean keepDims) {
    return of(scope, SUM, x, axes, keepDims);
  }

  /** The sums along {@code axes}, or of all elements if none is given. */
  public static Output sum(Scope scope, Output x, int... axes) {
    return sum(scope, x, Const.ints(scope, axes), false);
  }

  /** The sum of all elements, a scalar. */
  public static Output sumAll(Scope scope, Output x) {
    return sum(scope, x, Range.ofDimensions(scope, x), false);
  }

  /** The means along {@code axes}, or of all elements if none is given. */
  public static Output mean(Scope scope, Output x, int... axes) {
    return of(scope, MEAN, x, Const.ints(scope, axes), false);
  }

  /** The mean of all elements, a scalar. */
  public static Output meanAll(Scope scope, Output x) {
    return of(scope, MEAN, x, Range.ofDimensions(scope, x), false);
  }

  /** The largest along {@code axes}, or of all elements if none is given. */
  public static Output max(Scope scope, Output x, int... axes) {
    return of(scope, MAX, x, Const.ints(scope, axes), false);
  }

  private static Op.Builder define(String name, String types, Fold f) {
    return Op.define(name)
        .attr("keep_dims: bool = false")
        .attr(types)
        .attr("Tidx: {int32, int64} = int32")
        .input("input: T")
        .input("reduction_indices: Tidx")
        .output("output: T")
        .shape(Reduction::infer)
        .kernelPerNode(node -> kernel(node, f));
  }

  private static Op logical(String name, Fold f) {
    return Op.define(name)
        .attr("keep_dims: bool = false")
        .attr("Tidx: {int32, int64} = int32")
        .input("input: bool")
        .input("reduction_indices: Tidx")
        .output("output: bool")
        .shape(Reduction::infer)
        .kernelPerNode(node -> kernel(node, f))
        .noGradient("truth values are not differentiable")
        .build();
  }

  private static List<Shape> infer(ShapeContext c) {
    Shape in = c.input(0);
    boolean keep = c.node().booleanAttr("keep_dims");
    Tensor axes = c.constant(1);
    if (!in.hasRank()) {
      return List.of(in);
    }
    if (axes == null) {
      return List.of(keep ? Shape.unknownOfRank(in.rank()) : Shape.unknown());
    }
    return List.of(reduced(in, axes(in.rank(), axes), keep));
  }

  /** Which dimensions of a tensor of this rank are to go; a scalar means one. */
  static boolean[] axes(int rank, Tensor axes) {
    boolean[] reduce = new boolean[rank];
    for (long i = 0; i < axes.elements(); i++) {
      int axis;
      try {
        axis = Axis.of(axes.longAt(i), rank);
      } catch (MillraceException e) {
        throw MillraceException.invalid(
            "Invalid reduction dimension (%d for input with %d dimension(s))",
            axes.longAt(i), rank);
      }
      if (reduce[axis]) {
        throw MillraceException.invalid(
            "Invalid reduction arguments: Axes contains duplicate dimension: %d", axis);
      }
      reduce[axis] = true;
    }
    return reduce;
  }

  static Shape reduced(Shape in, boolean[] reduce, boolean keep) {
    long[] d = new long[reduce.length];
    int n = 0;
    for (int i = 0; i < d.length; i++) {
      if (!reduce[i]) {
        d[n++] = in.dim(i);
      } else if (keep) {
        d[n++] = 1;
      }
    }
    return Shape.of(java.util.Arrays.copyOf(d, n));
  }

  /** The dimensions that go, if the graph says so already; else null. */
  private static boolean[] knownAxes(Node node) {
    Shape in = node.input(0).shape();
    Node axes = node.input(1).node();
    return in.hasRank() && axes.op() == Const.OP ? axes(in.rank(), axes.tensorAttr("value")) : null;
  }

  private static Kernel kernel(Node node, Fold f) {
    DType type = node.output(0).dtype();
    Refusal.unless(f.supports(type), node, type);
    boolean keep = node.booleanAttr("keep_dims");
    boolean[] known = knownAxes(node);
    LastShape left = new LastShape((in, axes) -> reduced(in, known, keep));
    return c -> {
      Tensor x = c.input(0);
      Shape in = x.shape();
      boolean[] reduce = known != null ? known : axes(in.rank(), c.input(1));
      Shape s = known != null ? left.of(in, in) : reduced(in, reduce, keep);
      if (s.elements() == x.elements()) {
        // Only dimensions of 1 go: every fold of a single element is that element.
        c.output(0, Refs.reshaped(x, s));
        return;
      }
      f.run(x, reduce, c.allocate(0, s));
    };
  }
}
