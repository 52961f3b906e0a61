package dev.millrace.ops.flow;

import dev.millrace.graph.GradientContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Identity;

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

  static void ofRead(GradientContext g) {
    put(g, TensorArrayOps.WRITE, g.input(1), g.dy());
  }

  static void ofGather(GradientContext g) {
    put(g, TensorArrayOps.SCATTER, g.input(1), g.dy());
  }

  static void ofConcat(GradientContext g) {
    put(g, TensorArrayOps.SPLIT, g.dy(), g.output(1));
  }

  static void ofWrite(GradientContext g) {
    g.dx(2, take(g, TensorArrayOps.READ, g.input(1)));
  }

  static void ofScatter(GradientContext g) {
    g.dx(2, take(g, TensorArrayOps.GATHER, g.input(1)));
  }

  static void ofSplit(GradientContext g) {
    g.dx(1, take(g, TensorArrayOps.CONCAT));
  }

  /** Puts the gradient of what a node took; that of its flow, its last input, follows. */
  private static void put(GradientContext g, Op op, Output first, Output second) {
    int last = g.node().inputCount() - 1;
    Array a = of(g, g.input(last));
    g.dx(last, g.scope().add(op, a.handle, first, second, a.flow).output());
  }

  /** Takes the gradient of what a node put; that of its flow goes on as it came. */
  private static Output take(GradientContext g, Op op, Output... where) {
    Output flow = g.dy();
    Array a = of(g, flow);
    g.dx(g.node().inputCount() - 1, flow);
    var node = g.scope().node(op).input(a.handle);
    for (Output w : where) {
      node.input(w);
    }
    return node.input(a.flow).attr("dtype", g.node().typeAttr("T")).add().output(0);
  }
}
