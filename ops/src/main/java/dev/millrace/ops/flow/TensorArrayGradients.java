package dev.millrace.ops.flow;

import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.op.GradientContext;
import dev.millrace.ops.array.Identity;
import dev.millrace.tensor.DType;

/**
 * Gradients of {@link TensorArray}s: what was read is written to an array of gradients, what was
 * written is read from it. The flow of gradients goes the other way round and so makes their order.
 */
final class TensorArrayGradients {
  private TensorArrayGradients() {}

  /** The array of gradients of the one a node works on, with the flow to use it by. */
  private record Array(Output handle, Output flow) {}

  private static Array of(GradientContext g, Output flow) {
    // One array for each call that asks for gradients: its scope is around the node's.
    String prefix = g.scope().prefix();
    int end = prefix.lastIndexOf(g.node().name() + "_grad");
    String source = end > 0 ? prefix.substring(0, end - 1) : prefix;
    Scope s = g.scope();
    Node array =
        s.node(TensorArrayOps.GRAD).input(g.input(0)).input(flow).attr("source", source).add();
    return new Array(array.output(0), Identity.of(s.withControlInputs(array), flow));
  }

  private static Output forwardFlow(GradientContext g) {
    return g.input(g.node().inputCount() - 1);
  }

  private static DType type(GradientContext g) {
    return g.node().typeAttr(g.node().hasAttr("T") ? "T" : "dtype");
  }

  static void ofRead(GradientContext g) {
    Array a = of(g, forwardFlow(g));
    g.dx(
        2,
        g.scope()
            .node(TensorArrayOps.WRITE)
            .input(a.handle)
            .input(g.input(1))
            .input(g.dy())
            .input(a.flow)
            .add()
            .output());
  }

  static void ofWrite(GradientContext g) {
    Output flow = g.dy();
    Array a = of(g, flow);
    g.dx(
        2,
        g.scope()
            .node(TensorArrayOps.READ)
            .input(a.handle)
            .input(g.input(1))
            .input(a.flow)
            .attr("dtype", type(g))
            .add()
            .output());
    g.dx(3, flow);
  }

  static void ofGather(GradientContext g) {
    Array a = of(g, forwardFlow(g));
    g.dx(
        2,
        g.scope()
            .node(TensorArrayOps.SCATTER)
            .input(a.handle)
            .input(g.input(1))
            .input(g.dy())
            .input(a.flow)
            .add()
            .output());
  }

  static void ofScatter(GradientContext g) {
    Output flow = g.dy();
    Array a = of(g, flow);
    g.dx(
        2,
        g.scope()
            .node(TensorArrayOps.GATHER)
            .input(a.handle)
            .input(g.input(1))
            .input(a.flow)
            .attr("dtype", type(g))
            .add()
            .output());
    g.dx(3, flow);
  }

  static void ofConcat(GradientContext g) {
    Array a = of(g, forwardFlow(g));
    g.dx(
        1,
        g.scope()
            .node(TensorArrayOps.SPLIT)
            .input(a.handle)
            .input(g.dy())
            .input(g.output(1))
            .input(a.flow)
            .add()
            .output());
  }

  static void ofSplit(GradientContext g) {
    Output flow = g.dy();
    Array a = of(g, flow);
    g.dx(
        1,
        g.scope()
            .node(TensorArrayOps.CONCAT)
            .input(a.handle)
            .input(a.flow)
            .attr("dtype", type(g))
            .add()
            .output(0));
    g.dx(3, flow);
  }
}
