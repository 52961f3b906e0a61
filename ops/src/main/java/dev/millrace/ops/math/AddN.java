package dev.millrace.ops.math;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.GradientContext;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.ShapeContext;
import dev.millrace.ops.value.TensorList;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.elementwise.Elementwise;
import java.util.List;

/** The sum of tensors of one shape. */
public final class AddN {
  private static final String TYPES =
      "float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16,"
          + " qint16, quint16, uint16, complex128, half, uint32, uint64";

  public static final Op OP =
      Op.define("AddN")
          .attr("N: int >= 1")
          .attr("T: {" + TYPES + ", variant}")
          .input("inputs: N * T")
          .output("sum: T")
          .commutative()
          .shape(AddN::infer)
          .kernelPerNode(AddN::kernel)
          .gradient(AddN::gradient)
          .build();

  /** The same with the shape given beforehand. */
  public static final Op ACCUMULATE =
      Op.define("AccumulateNV2")
          .attr("N: int >= 1")
          .attr("T: {" + TYPES + "}")
          .attr("shape: shape")
          .input("inputs: N * T")
          .output("sum: T")
          .commutative()
          .shape(
              c -> {
                // What is given is believed only where the inputs do not say otherwise.
                Shape inputs = infer(c).getFirst();
                Shape given = c.node().shapeAttr("shape");
                return List.of(inputs.isCompatibleWith(given) ? inputs.mergeWith(given) : inputs);
              })
          .kernelPerNode(AddN::kernel)
          .gradient(AddN::gradient)
          .build();

  private AddN() {}

  /** The sum of {@code inputs}; a single one is given back as it is. */
  public static Output of(Scope scope, List<Output> inputs) {
    return inputs.size() == 1 ? inputs.getFirst() : scope.node(OP).inputs(inputs).add().output();
  }

  private static List<Shape> infer(ShapeContext c) {
    Shape s = Shape.unknown();
    for (int i = 0; i < c.inputCount(); i++) {
      s = s.mergeWith(c.input(i));
    }
    return List.of(s);
  }

  private static Kernel kernel(Node node) {
    DType type = node.output(0).dtype();
    if (type == DType.VARIANT) {
      return TensorList::sum;
    }
    Refusal.unless(DType.NUMERIC.contains(type), node, type);
    return AddN::compute;
  }

  private static void compute(KernelContext c) {
    Tensor[] inputs = new Tensor[c.inputCount()];
    Shape s = c.input(0).shape();
    int reuse = 0;
    for (int i = 0; i < inputs.length; i++) {
      inputs[i] = c.input(i);
      if (!inputs[i].shape().equals(s)) {
        throw MillraceException.invalid(
            "Inputs to operation %s of type %s must have the same size and shape. Input 0: %s !="
                + " input %d: %s",
            c.node().name(), c.node().op().name(), s, i, inputs[i].shape());
      }
      reuse = c.reusable(i) != null ? i : reuse;
    }
    if (inputs.length == 1) {
      c.output(0, Refs.retain(inputs[0]));
      return;
    }
    Elementwise.addN(inputs, c.allocateOrReuse(0, reuse, s));
  }

  private static void gradient(GradientContext g) {
    for (int i = 0; i < g.node().inputCount(); i++) {
      g.dx(i, g.dy());
    }
  }
}
