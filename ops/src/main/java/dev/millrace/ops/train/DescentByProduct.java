package dev.millrace.ops.train;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.AttrValue;
import dev.millrace.graph.Fusion.Fused;
import dev.millrace.graph.Fusion.Readers;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.resource.Variable;
import dev.millrace.ops.array.LastShape;
import dev.millrace.ops.math.MatMul;
import dev.millrace.ops.state.VariableKind;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.gemm.AddProduct;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Gradient descent along a gradient that is a matrix product, as that of a dense layer's weights:
 * the product is added to the variable as it is computed and never written anywhere else.
 */
final class DescentByProduct {
  private static final Op REFERENCE = define("_DescentByProduct", VariableKind.REFERENCE);
  private static final Op RESOURCE = define("_ResourceDescentByProduct", VariableKind.RESOURCE);

  private DescentByProduct() {}

  private static Op define(String name, VariableKind kind) {
    Op.Builder op =
        Op.define(name)
            .attr("T: {float, double}")
            .attr("transpose_a: bool")
            .attr("transpose_b: bool")
            .input(kind.argument("var", "T"))
            .input("alpha: T")
            .input("a: T")
            .input("b: T");
    return kind.result(op, "out", "T")
        .shape(c -> kind.resultShapes(kind.shapeOf(c, 0)))
        .kernelPerNode(node -> kernel(node, kind))
        .noGradient("an update is not a function of its inputs")
        .build();
  }

  /** Matches {@code ApplyGradientDescent(var, alpha, MatMul(a, b))} and its resource form. */
  static Fused match(Node last, Readers readers) {
    boolean resource = last.op().name().equals("ResourceApplyGradientDescent");
    if (!resource && !last.op().name().equals("ApplyGradientDescent")) {
      return null;
    }
    Node product = last.input(2).node();
    DType type = last.typeAttr("T");
    if (product.op() != MatMul.OP || (type != DType.FLOAT && type != DType.DOUBLE)) {
      return null;
    }
    Map<String, AttrValue> attrs = new HashMap<>();
    for (String a : List.of("T", "transpose_a", "transpose_b")) {
      attrs.put(a, product.attr(a));
    }
    return new Fused(
        resource ? RESOURCE : REFERENCE,
        attrs,
        List.of(last.input(0), last.input(1), product.input(0), product.input(1)),
        List.of(product));
  }

  private static Kernel kernel(Node node, VariableKind kind) {
    boolean ta = node.booleanAttr("transpose_a");
    boolean tb = node.booleanAttr("transpose_b");
    DType type = node.typeAttr("T");
    LastShape product = new LastShape((a, b) -> MatMul.product(a, b, ta, tb));
    return c -> {
      Tensor alpha = c.input(1);
      Tensor a = c.input(2);
      Tensor b = c.input(3);
      if (!alpha.shape().isScalar()) {
        throw MillraceException.invalid("alpha is not a scalar: %s.", alpha.shape());
      }
      Shape gradient = product.of(a.shape(), b.shape());
      double scale = -alpha.doubleAt(0);
      Variable v = kind.at(c, 0, type);
      kind.update(c, v, value -> descend(value, a, ta, b, tb, gradient, scale));
      kind.done(c);
    };
  }

  private static void descend(
      Tensor value, Tensor a, boolean ta, Tensor b, boolean tb, Shape gradient, double scale) {
    if (!value.shape().equals(gradient)) {
      throw MillraceException.invalid(
          "the variable has shape %s, its gradient %s; they must be the same.",
          value.shape(), gradient);
    }
    if (!AddProduct.overlap(value, a) && !AddProduct.overlap(value, b)) {
      AddProduct.run(a, ta, b, tb, scale, value);
      return;
    }
    // The variable is a factor of its own gradient: it must not change while it is read.
    Tensor sum = Refs.copy(value);
    try {
      AddProduct.run(a, ta, b, tb, scale, sum);
      value.data().copyFrom(sum.data().asSlice(0, value.byteSize()));
    } finally {
      Refs.release(sum);
    }
  }
}
