package dev.millrace.ops.array;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import java.util.List;

/** Ops that hand their inputs on as they are and differ in what they say about gradients. */
public final class Plumbing {
  /** Several at once. */
  public static final Op IDENTITY_N =
      Op.define("IdentityN")
          .attr("T: list(type) >= 1")
          .input("input: T")
          .output("output: T")
          .shape(c -> c.node().inputs().stream().map(Output::shape).toList())
          .kernel(
              c -> {
                for (int i = 0; i < c.inputCount(); i++) {
                  c.output(i, Refs.retain(c.input(i)));
                }
              })
          .gradient(
              g -> {
                for (int i = 0; i < g.node().inputCount(); i++) {
                  if (g.hasGradient(i)) {
                    g.dx(i, g.dy(i));
                  }
                }
              })
          .build();

  /** A copy that later writes to the input do not touch. */
  public static final Op SNAPSHOT =
      Op.define("Snapshot")
          .attr("T: type")
          .input("input: T")
          .output("output: T")
          .shape(Shapes.like(0))
          .kernel(c -> c.output(0, Refs.copy(c.input(0))))
          .gradient(g -> g.dx(0, g.dy()))
          .build();

  /** Through which no gradient goes. */
  public static final Op STOP_GRADIENT =
      Op.define("StopGradient")
          .attr("T: type")
          .input("input: T")
          .output("output: T")
          .shape(Shapes.like(0))
          .kernel(c -> c.output(0, Refs.retain(c.input(0))))
          .noGradient("that is its purpose")
          .build();

  /** Of which asking for the gradient is an error. */
  public static final Op PREVENT_GRADIENT =
      Op.define("PreventGradient")
          .attr("T: type")
          .attr("message: string = ''")
          .input("input: T")
          .output("output: T")
          .shape(Shapes.like(0))
          .kernel(c -> c.output(0, Refs.retain(c.input(0))))
          .gradient(
              g -> {
                throw MillraceException.invalid(
                    "Gradient explicitly disabled at '%s'. Reason: %s",
                    g.node().name(), g.node().stringAttr("message"));
              })
          .build();

  /** A point for control edges to meet that runs even if what it waits for is dead. */
  public static final Op CONTROL_TRIGGER =
      Op.define("ControlTrigger")
          .role(Op.Role.CONTROL_TRIGGER)
          .shape(Shapes.none())
          .kernel(c -> {})
          .noGradient("it has no inputs")
          .build();

  /** Checks that the shape is one that agrees with the attribute. */
  public static final Op ENSURE_SHAPE =
      Op.define("EnsureShape")
          .attr("shape: shape")
          .attr("T: type")
          .input("input: T")
          .output("output: T")
          .shape(c -> List.of(c.input(0).mergeWith(c.node().shapeAttr("shape"))))
          .kernelPerNode(
              node -> {
                Shape wanted = node.shapeAttr("shape");
                return c -> {
                  if (!wanted.isCompatibleWith(c.input(0).shape())) {
                    throw MillraceException.invalid(
                        "Shape of tensor %s %s is not compatible with expected shape %s.",
                        node.input(0).name(), c.input(0).shape(), wanted);
                  }
                  c.output(0, Refs.retain(c.input(0)));
                };
              })
          .gradient(g -> g.dx(0, g.dy()))
          .build();

  private Plumbing() {}

  /** {@code input}, through which no gradient goes. */
  public static Output stopGradient(Scope scope, Output input) {
    return scope.add(STOP_GRADIENT, input).output();
  }
}
