package dev.millrace.ops.transfer;

import dev.millrace.graph.Op;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Tensor;

/** A fed value and a fetched one of a session in this process. */
public final class ArgRetval {
  public static final Op ARG =
      Op.define("_Arg")
          .attr("T: type")
          .attr("index: int >= 0")
          .output("output: T")
          .stateful()
          .role(Op.Role.ARG)
          .runsOnAnyDevice()
          .shape(Shapes.unknown())
          .kernelPerNode(
              node -> {
                int index = node.intAttr("index");
                return c -> c.output(0, c.memory().fromHost(Refs.retain(c.argument(index))));
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
          .runsOnAnyDevice()
          .shape(Shapes.none())
          .kernelPerNode(
              node -> {
                int index = node.intAttr("index");
                boolean copies = SendRecv.isVariableMemory(node.input(0));
                return c -> {
                  // A dead value is left out: whoever takes the results says so.
                  if (!c.isDead(0)) {
                    Tensor t = c.input(0);
                    c.result(index, copies ? Refs.copy(t) : c.memory().toHost(t));
                  }
                };
              })
          .noGradient("it has no outputs")
          .build();

  private ArgRetval() {}
}
