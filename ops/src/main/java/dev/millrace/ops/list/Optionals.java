package dev.millrace.ops.list;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Gradient;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.ops.value.OptionalValue;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.VariantValue;
import java.util.ArrayList;
import java.util.List;

/**
 * Values that may be missing, as elements of variant tensors. A branch that is differentiated hands
 * them to its gradient: there is none where the other branch was taken.
 */
public final class Optionals {
  private static final Gradient NONE =
      Gradient.undefined("it is a part of gradients of branches, and has none itself");

  static final Op FROM_VALUE =
      Op.define("OptionalFromValue")
          .attr("Toutput_types: list(type) >= 1")
          .input("components: Toutput_types")
          .output("optional: variant")
          .shape(Shapes.scalar())
          .kernel(
              c -> {
                List<Tensor> held = new ArrayList<>();
                for (int i = 0; i < c.inputCount(); i++) {
                  held.add(Refs.retain(c.input(i)));
                }
                give(c, held);
              })
          .gradient(NONE)
          .build();

  static final Op EMPTY =
      Op.define("OptionalNone")
          .output("optional: variant")
          .shape(Shapes.scalar())
          .kernel(c -> give(c, List.of()))
          .noGradient("it depends on nothing")
          .build();

  static final Op HAS_VALUE =
      Op.define("OptionalHasValue")
          .input("optional: variant")
          .output("has_value: bool")
          .shape(Shapes.scalar())
          .kernel(
              c -> c.allocate(0, Shape.scalar()).setLong(0, value(c).tensors().isEmpty() ? 0 : 1))
          .noGradient("it is true or false")
          .build();

  static final Op GET_VALUE =
      Op.define("OptionalGetValue")
          .attr("output_types: list(type) >= 1")
          .attr("output_shapes: list(shape) >= 1")
          .input("optional: variant")
          .output("components: output_types")
          .shape(c -> c.node().shapesAttr("output_shapes"))
          .kernel(
              c -> {
                List<Tensor> held = value(c).tensors();
                if (held.isEmpty()) {
                  throw MillraceException.invalid("The given optional does not have a value.");
                }
                for (int i = 0; i < c.node().outputCount(); i++) {
                  if (i >= held.size() || held.get(i).dtype() != c.node().output(i).dtype()) {
                    throw MillraceException.invalid(
                        "The optional holds %s; output %d should be %s.",
                        held, i, c.node().output(i).dtype());
                  }
                  c.output(i, Refs.retain(held.get(i)));
                }
              })
          .gradient(NONE)
          .build();

  static final List<Op> ALL = List.of(FROM_VALUE, EMPTY, HAS_VALUE, GET_VALUE);

  private Optionals() {}

  private static void give(KernelContext c, List<Tensor> held) {
    c.output(0, of(held));
  }

  /**
   * A tensor that holds these, whose counted references it takes over, with one counted reference;
   * none are a missing value.
   */
  public static Tensor of(List<Tensor> held) {
    return VariantValue.tensor(new OptionalValue(held));
  }

  private static OptionalValue value(KernelContext c) {
    Tensor t = c.input(0);
    OptionalValue v = t.elements() == 1 ? OptionalValue.at(t.objects(), 0) : null;
    if (v == null) {
      throw MillraceException.invalid("Input is not an Optional: it is %s.", t.dtype());
    }
    return v;
  }
}
