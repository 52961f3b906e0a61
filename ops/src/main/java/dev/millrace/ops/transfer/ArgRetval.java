package dev.millrace.ops.transfer;

import dev.millrace.graph.op.Op;
import dev.millrace.graph.op.Shapes;

/** A fed value and a fetched one of a session in this process. */
public final class ArgRetval {
  public static final Op ARG =
      Op.define("_Arg")
          .attr("T: type")
          .attr("index: int >= 0")
          .output("output: T")
          .stateful()
          .role(Op.Role.ARG)
          .shape(Shapes.unknown())
          .kernelPerNode(
              node -> {
                int index = node.intAttr("index");
                return c -> c.output(0, c.argument(index).retain());
              })
          .noGradient("what is fed depends on nothing in the graph")
          .build();

  public static final Op RETVAL =
      Op.define("_Retval")
          .attr("T: type")
          .attr("index: int >= 0")
          .input("input: T")
          .stateful()
          .role(Op.Role.RETVAL)
          .shape(Shapes.none())
          .kernelPerNode(
              node -> {
                int index = node.intAttr("index");
                return c -> c.result(index, c.input(0).retain());
              })
          .noGradient("it has no outputs")
          .build();

  private ArgRetval() {}
}
