package dev.millrace.ops.flow;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.GradientContext;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.tensor.Tensor;
import java.util.List;

/** Its data on output 1 if the predicate is true, on output 0 if not; the other output is dead. */
public final class Switch {
  public static final Op OP = define("Switch", "T").build();

  /** For references to variables, which need not have a value yet. */
  public static final Op REF = define("RefSwitch", "Ref(T)").allowsUninitialized().build();

  private Switch() {}

  /** Adds a node with output 0 for false and 1 for true. */
  public static Node of(Scope scope, Output data, Output predicate) {
    return scope.add(data.isRef() ? REF : OP, data, predicate);
  }

  private static Op.Builder define(String name, String type) {
    return Op.define(name)
        .attr("T: type")
        .input("data: " + type)
        .input("pred: bool")
        .output("output_false: " + type)
        .output("output_true: " + type)
        .role(Op.Role.SWITCH)
        .shape(
            c -> {
              c.inputOfRank(1, 0);
              return List.of(c.input(0), c.input(0));
            })
        .kernel(Switch::compute)
        .gradient(Switch::gradient);
  }

  private static void compute(KernelContext c) {
    Tensor predicate = c.input(1);
    if (!predicate.shape().isScalar()) {
      throw MillraceException.invalid(
          "The second input must be a scalar, but it has shape %s", predicate.shape());
    }
    c.forward(predicate.booleanValue() ? 1 : 0, 0);
  }

  /** Of the two gradients one is alive. Where a side has none, zeros of that side stand for it. */
  private static void gradient(GradientContext g) {
    g.dx(0, Merge.of(g.scope(), List.of(g.dy(0), g.dy(1))).output(0));
  }
}
