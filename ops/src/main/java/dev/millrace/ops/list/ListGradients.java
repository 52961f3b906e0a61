package dev.millrace.ops.list;

import dev.millrace.graph.GradientContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.NodeBuilder;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.ShapeOf;
import dev.millrace.ops.array.StridedSlice;
import dev.millrace.ops.array.ZerosLike;
import dev.millrace.ops.value.TensorList;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;

/**
 * Gradients of {@link TensorList}s. The gradient of a list is a list of the gradients of its
 * elements: what an op puts into a list is taken out of that, and the other way round.
 */
final class ListGradients {
  private ListGradients() {}

  static void ofPushBack(GradientContext g) {
    Node pop =
        node(g, TensorListOps.POP_BACK)
            .input(g.dy())
            .input(ShapeOf.known(g.scope(), g.input(1)))
            .add();
    g.dx(0, pop.output(0));
    g.dx(1, pop.output(1));
  }

  static void ofPopBack(GradientContext g) {
    g.dx(0, node(g, TensorListOps.PUSH_BACK).input(g.dy(0)).input(g.dy(1)).add().output());
  }

  static void ofSetItem(GradientContext g) {
    Scope s = g.scope();
    Output item = g.input(2);
    Output others =
        node(g, TensorListOps.SET_ITEM)
            .input(g.dy())
            .input(g.input(1))
            .input(ZerosLike.of(s, item))
            .add()
            .output();
    boolean grows = g.node().booleanAttr("resize_if_index_out_of_bounds");
    g.dx(0, grows ? resized(g, others) : others);
    g.dx(
        2,
        node(g, TensorListOps.GET_ITEM)
            .input(g.dy())
            .input(g.input(1))
            .input(ShapeOf.known(s, item))
            .add()
            .output());
  }

  static void ofGetItem(GradientContext g) {
    g.dx(
        0,
        node(g, TensorListOps.SET_ITEM)
            .input(unset(g))
            .input(g.input(1))
            .input(g.dy())
            .add()
            .output());
  }

  static void ofFromTensor(GradientContext g) {
    Output tensor = g.input(0);
    g.dx(
        0,
        node(g, TensorListOps.STACK)
            .input(g.dy())
            .input(elementShape(g, tensor))
            .attr("num_elements", tensor.shape().hasRank() ? tensor.shape().dim(0) : -1)
            .add()
            .output());
  }

  static void ofStack(GradientContext g) {
    Shape s = g.dy().shape();
    Output elementShape =
        s.hasRank()
            ? Const.dims(g.scope(), s.slice(1, s.rank()))
            : Const.of(g.scope(), (int) Shape.UNKNOWN);
    g.dx(0, node(g, TensorListOps.FROM_TENSOR).input(g.dy()).input(elementShape).add().output());
  }

  /** An element gathered more than once has the sum for its gradient. */
  static void ofGather(GradientContext g) {
    Scope s = g.scope();
    Output indices = g.input(1);
    Output sums =
        s.node("UnsortedSegmentSum").input(g.dy()).input(indices).input(length(g)).add().output();
    Output each =
        s.node("GatherV2").input(sums).input(indices).input(Const.of(s, 0)).add().output();
    g.dx(
        0,
        node(g, TensorListOps.SCATTER_INTO)
            .input(unset(g))
            .input(each)
            .input(indices)
            .add()
            .output());
  }

  static void ofScatter(GradientContext g) {
    g.dx(0, gathered(g, g.input(0), g.input(1)));
  }

  static void ofScatterInto(GradientContext g) {
    Output tensor = g.input(1);
    Output indices = g.input(2);
    g.dx(
        0,
        node(g, TensorListOps.SCATTER_INTO)
            .input(g.dy())
            .input(ZerosLike.of(g.scope(), tensor))
            .input(indices)
            .add()
            .output());
    g.dx(1, gathered(g, tensor, indices));
  }

  static void ofResize(GradientContext g) {
    g.dx(0, resized(g, g.dy()));
  }

  /** A node on lists with elements of the same type. */
  private static NodeBuilder node(GradientContext g, Op op) {
    return g.scope().node(op).attr("element_dtype", g.node().typeAttr("element_dtype"));
  }

  private static Output gathered(GradientContext g, Output tensor, Output indices) {
    return node(g, TensorListOps.GATHER)
        .input(g.dy())
        .input(indices)
        .input(elementShape(g, tensor))
        .add()
        .output();
  }

  /** The shape of the elements of a list made from the rows of {@code tensor}. */
  private static Output elementShape(GradientContext g, Output tensor) {
    Shape s = tensor.shape();
    return s.isKnown()
        ? Const.dims(g.scope(), s.slice(1, s.rank()))
        : StridedSlice.range(g.scope(), ShapeOf.of(g.scope(), tensor), 1, null);
  }

  private static Output length(GradientContext g) {
    return g.scope().add(TensorListOps.LENGTH, g.input(0)).output();
  }

  /** A list as long as the one in input 0, of which no element is set. */
  private static Output unset(GradientContext g) {
    Output shape =
        g.scope()
            .node(TensorListOps.ELEMENT_SHAPE)
            .input(g.input(0))
            .attr("shape_type", DType.INT32)
            .add()
            .output();
    return node(g, TensorListOps.RESERVE).input(shape).input(length(g)).add().output();
  }

  private static Output resized(GradientContext g, Output list) {
    return g.scope().add(TensorListOps.RESIZE, list, length(g)).output();
  }
}
