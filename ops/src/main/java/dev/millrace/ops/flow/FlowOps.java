package dev.millrace.ops.flow;

import dev.millrace.graph.Op;
import dev.millrace.graph.shape.Shapes;
import java.util.List;
import java.util.stream.Stream;

/** The ops of this package. */
public final class FlowOps {
  /** The reference it is given, to a variable that need not have a value yet. */
  public static final Op REF_IDENTITY =
      Op.define("RefIdentity")
          .attr("T: type")
          .input("input: Ref(T)")
          .output("output: Ref(T)")
          .allowsUninitialized()
          .shape(Shapes.like(0))
          .kernel(c -> c.forward(0, 0))
          .gradient(g -> g.pass(0, 0))
          .build();

  private static final List<Op> CONTROL =
      List.of(
          Switch.OP,
          Switch.REF,
          Merge.OP,
          Merge.REF,
          Frames.ENTER,
          Frames.REF_ENTER,
          Frames.EXIT,
          Frames.REF_EXIT,
          Frames.NEXT_ITERATION,
          Frames.REF_NEXT_ITERATION,
          Frames.LOOP_COND,
          REF_IDENTITY,
          Stacks.STACK,
          Stacks.PUSH,
          Stacks.POP,
          Stacks.CLOSE);

  public static final List<Op> ALL =
      Stream.of(CONTROL, TensorArrayOps.ALL).flatMap(List::stream).toList();

  private FlowOps() {}
}
