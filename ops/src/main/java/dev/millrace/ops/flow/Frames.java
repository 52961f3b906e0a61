package dev.millrace.ops.flow;

import dev.millrace.graph.Gradient;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.shape.Shapes;

/**
 * The ops of loops. A loop runs in a frame of its own: values enter it, go from iteration to
 * iteration, and leave it. The executor does that; the ops themselves hand on what they are given.
 */
public final class Frames {
  private static final Gradient NONE = Gradient.undefined("it is not part of a whole loop");

  public static final Op ENTER = enter("Enter", "T");
  public static final Op REF_ENTER = enter("RefEnter", "Ref(T)");
  public static final Op EXIT = pass("Exit", "T", Op.Role.EXIT);
  public static final Op REF_EXIT = pass("RefExit", "Ref(T)", Op.Role.EXIT);
  public static final Op NEXT_ITERATION = pass("NextIteration", "T", Op.Role.NEXT_ITERATION);
  public static final Op REF_NEXT_ITERATION =
      pass("RefNextIteration", "Ref(T)", Op.Role.NEXT_ITERATION);

  /** Marks the condition: the loop goes on while it is true. */
  public static final Op LOOP_COND =
      Op.define("LoopCond")
          .input("input: bool")
          .output("output: bool")
          .role(Op.Role.LOOP_COND)
          .shape(
              c -> {
                c.inputOfRank(0, 0);
                return Shapes.scalar().infer(c);
              })
          .kernel(c -> c.forward(0, 0))
          .noGradient("a condition is not a number")
          .build();

  private Frames() {}

  /** Takes {@code data} into the loop called {@code frame}: a constant of it, or its start. */
  public static Output enter(Scope scope, Output data, String frame, boolean constant) {
    return scope
        .node(data.isRef() ? REF_ENTER : ENTER)
        .input(data)
        .attr("frame_name", frame)
        .attr("is_constant", constant)
        .add()
        .output();
  }

  /** Hands {@code data} out of the loop it is in, when that ends. */
  public static Output exit(Scope scope, Output data) {
    return scope.add(EXIT, data).output();
  }

  /** Hands {@code data} on to the next iteration. */
  public static Output nextIteration(Scope scope, Output data) {
    return scope.add(NEXT_ITERATION, data).output();
  }

  /** Marks {@code condition} as what decides whether the loop goes on. */
  public static Output loopCond(Scope scope, Output condition) {
    return scope.add(LOOP_COND, condition).output();
  }

  private static Op enter(String name, String type) {
    return Op.define(name)
        .attr("T: type")
        .attr("frame_name: string")
        .attr("is_constant: bool = false")
        .attr("parallel_iterations: int = 10")
        .input("data: " + type)
        .output("output: " + type)
        .role(Op.Role.ENTER)
        .shape(Shapes.like(0))
        .kernel(c -> c.forward(0, 0))
        .gradient(NONE)
        .build();
  }

  private static Op pass(String name, String type, Op.Role role) {
    return Op.define(name)
        .attr("T: type")
        .input("data: " + type)
        .output("output: " + type)
        .role(role)
        .shape(Shapes.like(0))
        .kernel(c -> c.forward(0, 0))
        .gradient(NONE)
        .build();
  }
}
