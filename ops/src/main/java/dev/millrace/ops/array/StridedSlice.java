package dev.millrace.ops.array;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.GradientContext;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.NodeBuilder;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.ShapeContext;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.StridedCopy;
import java.util.List;

/** The elements Python writes {@code x[begin:end:stride, ...]}; see {@link SliceSpec}. */
public final class StridedSlice {
  private static final List<String> MASKS =
      List.of("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask");

  public static final Op OP =
      masks(Op.define("StridedSlice").attr("T: type").attr("Index: {int16, int32, int64}"))
          .input("input: T")
          .input("begin: Index")
          .input("end: Index")
          .input("strides: Index")
          .output("output: T")
          .shape(StridedSlice::infer)
          .kernelPerNode(StridedSlice::kernel)
          .gradient(StridedSlice::gradient)
          .build();

  /** Zeros of a shape, with {@code dy} where the slice would be taken. */
  public static final Op GRAD =
      masks(Op.define("StridedSliceGrad").attr("T: type").attr("Index: {int32, int64}"))
          .input("shape: Index")
          .input("begin: Index")
          .input("end: Index")
          .input("strides: Index")
          .input("dy: T")
          .output("output: T")
          .shape(c -> List.of(c.constantAsShape(0)))
          .kernelPerNode(StridedSlice::gradKernel)
          .gradient(
              g -> {
                NodeBuilder b = g.scope().node(OP).input(g.dy());
                g.dx(4, sameSlice(b, g).add().output());
              })
          .build();

  private StridedSlice() {}

  private static Op.Builder masks(Op.Builder b) {
    MASKS.forEach(m -> b.attr(m + ": int = 0"));
    return b;
  }

  /** {@code x[index]}: the part of the first dimension at {@code index}, without it. */
  public static Output at(Scope scope, Output x, int index) {
    return scope
        .node(OP)
        .input(x)
        .input(Const.ints(scope, index))
        .input(Const.ints(scope, index + 1))
        .input(Const.ints(scope, 1))
        .attr("shrink_axis_mask", 1)
        .attr("end_mask", index == -1 ? 1 : 0)
        .add()
        .output();
  }

  /** {@code x[from:to]} along the first dimension; null leaves a bound out. */
  public static Output range(Scope scope, Output x, Integer from, Integer to) {
    return scope
        .node(OP)
        .input(x)
        .input(Const.ints(scope, from == null ? 0 : from))
        .input(Const.ints(scope, to == null ? 0 : to))
        .input(Const.ints(scope, 1))
        .attr("begin_mask", from == null ? 1 : 0)
        .attr("end_mask", to == null ? 1 : 0)
        .add()
        .output();
  }

  private static List<Shape> infer(ShapeContext c) {
    SliceSpec spec = new SliceSpec(c.node());
    Tensor strides = c.constant(3);
    if (!c.input(0).hasRank() || strides == null) {
      return List.of(Shape.unknown());
    }
    return List.of(spec.of(c.input(0), c.constant(1), c.constant(2), strides).shape());
  }

  private static Kernel kernel(Node node) {
    SliceSpec spec = new SliceSpec(node);
    return c -> {
      Tensor x = c.input(0);
      SliceSpec.Box box = spec.of(x.shape(), c.input(1), c.input(2), c.input(3));
      boolean whole = true;
      for (int i = 0; i < box.dims().length; i++) {
        whole &= box.strides()[i] == 1 && box.dims()[i] == x.shape().dim(i);
      }
      if (whole) {
        c.output(0, Refs.reshaped(x, box.shape()));
        return;
      }
      Tensor y = c.allocate(0, box.shape());
      if (y.elements() == 0) {
        return;
      }
      long[] d = box.dims();
      StridedCopy.copy(
          d, x, box.start(x.shape()), box.steps(x.shape()), y, 0, StridedCopy.rowMajor(d));
    };
  }

  private static Kernel gradKernel(Node node) {
    SliceSpec spec = new SliceSpec(node);
    return c -> {
      Shape whole = Axis.shape(c.input(0));
      Tensor dy = c.input(4);
      SliceSpec.Box box = spec.of(whole, c.input(1), c.input(2), c.input(3));
      if (!box.shape().equals(dy.shape())) {
        throw MillraceException.invalid(
            "shape of dy was %s instead of %s, the slice of a tensor of shape %s.",
            dy.shape(), box.shape(), whole);
      }
      Tensor dx = c.allocate(0, whole);
      ZerosLike.clear(dx);
      if (dy.elements() == 0) {
        return;
      }
      long[] d = box.dims();
      StridedCopy.copy(d, dy, 0, StridedCopy.rowMajor(d), dx, box.start(whole), box.steps(whole));
    };
  }

  private static NodeBuilder sameSlice(NodeBuilder b, GradientContext g) {
    b.input(g.input(1)).input(g.input(2)).input(g.input(3));
    MASKS.forEach(m -> b.attr(m, g.node().attr(m)));
    return b;
  }

  private static void gradient(GradientContext g) {
    DType index = g.input(1).dtype();
    Output shape =
        g.scope().node(ShapeOf.OP).input(g.input(0)).attr("out_type", index).add().output();
    Output dx = sameSlice(g.scope().node(GRAD).input(shape), g).input(g.dy()).add().output();
    dx.refineShape(g.input(0).shape());
    g.dx(0, dx);
  }
}
