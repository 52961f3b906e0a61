package dev.millrace.ops.nn;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.AttrValue;
import dev.millrace.graph.Fusion.Fused;
import dev.millrace.graph.Fusion.Readers;
import dev.millrace.graph.Gradient;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.ShapeContext;
import dev.millrace.ops.array.LastShape;
import dev.millrace.ops.math.MatMul;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.conv.ChannelBias;
import dev.millrace.tensor.math.elementwise.BinaryOp;
import dev.millrace.tensor.math.elementwise.Elementwise;
import dev.millrace.tensor.math.elementwise.UnaryOp;
import dev.millrace.tensor.math.gemm.Gemm;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * A matrix product with bias and activation in one node. Nobody writes it: TensorFlow's master
 * makes it out of MatMul, BiasAdd and Relu before it sends a graph to its workers, and Millrace
 * before it runs one.
 */
public final class FusedMatMul {
  public static final Op OP =
      Op.define("_FusedMatMul")
          .attr("transpose_a: bool = false")
          .attr("transpose_b: bool = false")
          .attr("T: {bfloat16, half, float, double}")
          .attr("num_args: int >= 0")
          .attr("fused_ops: list(string) = []")
          .attr("epsilon: float = 0.0001")
          .attr("leakyrelu_alpha: float = 0.2")
          .input("a: T")
          .input("b: T")
          .input("args: num_args * T")
          .output("product: T")
          .shape(FusedMatMul::shape)
          .kernelPerNode(FusedMatMul::kernel)
          .gradient(Gradient.undefined("it appears only after gradients have been added"))
          .build();

  private static final Set<String> SUMS = Set.of("Add", "AddV2", "BiasAdd");

  private static final Map<String, UnaryOp> ACTIVATIONS =
      Map.of(
          "Relu", UnaryOp.RELU,
          "Relu6", UnaryOp.RELU6,
          "Elu", UnaryOp.ELU,
          "Tanh", UnaryOp.TANH,
          "Sigmoid", UnaryOp.SIGMOID);

  private FusedMatMul() {}

  /**
   * Matches {@code Relu(bias)} and {@code bias}, a bias added to a product in one of three ways.
   */
  static Fused match(Node last, Readers readers) {
    boolean relu = last.op() == Activations.RELU;
    Node sum = relu ? last.input(0).node() : last;
    if (!SUMS.contains(sum.op().name())) {
      return null;
    }
    for (int i = 0; i < 2; i++) {
      Node product = sum.input(i).node();
      Output bias = sum.input(1 - i);
      if (product.op() == MatMul.OP && isBias(bias, product, sum)) {
        Map<String, AttrValue> attrs = new HashMap<>();
        for (String a : List.of("T", "transpose_a", "transpose_b")) {
          attrs.put(a, product.attr(a));
        }
        attrs.put("num_args", AttrValue.of(1));
        attrs.put(
            "fused_ops", AttrValue.of(relu ? List.of("BiasAdd", "Relu") : List.of("BiasAdd")));
        return new Fused(
            OP,
            attrs,
            List.of(product.input(0), product.input(1), bias),
            relu ? List.of(sum, product) : List.of(product));
      }
    }
    return null;
  }

  /** Whether {@code sum} adds a number to each column of {@code product}. */
  private static boolean isBias(Output bias, Node product, Node sum) {
    Shape p = product.output(0).shape();
    return product.output(0).dtype().isFloating()
        && bias.node() != product
        && bias.shape().rank() == 1
        && bias.shape().dim(0) >= 0
        && p.rank() == 2
        && p.dim(1) == bias.shape().dim(0)
        && sum.output(0).shape().rank() == 2
        && (!sum.hasAttr("data_format") || sum.input(1) == bias);
  }

  private static List<Shape> shape(ShapeContext c) {
    Shape a = c.inputOfRank(0, 2);
    Shape b = c.inputOfRank(1, 2);
    return List.of(
        Shape.of(
            a.dim(c.node().booleanAttr("transpose_a") ? 1 : 0),
            b.dim(c.node().booleanAttr("transpose_b") ? 0 : 1)));
  }

  private static Kernel kernel(Node node) {
    DType type = node.output(0).dtype();
    boolean ta = node.booleanAttr("transpose_a");
    boolean tb = node.booleanAttr("transpose_b");
    List<String> fused = node.stringsAttr("fused_ops");
    boolean known =
        !fused.isEmpty()
            && fused.getFirst().equals("BiasAdd")
            && node.intAttr("num_args") == 1
            && (fused.size() == 1 || (fused.size() == 2 && ACTIVATIONS.containsKey(fused.get(1))));
    if (!known) {
      throw new MillraceException(
          Code.UNIMPLEMENTED,
          "_FusedMatMul '"
              + node.name()
              + "' fuses "
              + fused
              + "; known are BiasAdd alone or followed by one of "
              + ACTIVATIONS.keySet().stream().sorted().toList()
              + ".");
    }
    UnaryOp activation = fused.size() == 2 ? ACTIVATIONS.get(fused.get(1)) : null;
    boolean relu = activation == UnaryOp.RELU;
    LastShape product = new LastShape((a, b) -> Shape.of(a.dim(ta ? 1 : 0), b.dim(tb ? 0 : 1)));
    return c -> {
      Tensor a = c.input(0);
      Tensor b = c.input(1);
      Tensor bias = c.input(2);
      if (a.shape().rank() != 2 || b.shape().rank() != 2) {
        throw MillraceException.invalid(
            "both inputs must be matrices: a is %s, b is %s.", a.shape(), b.shape());
      }
      long k = a.shape().dim(ta ? 0 : 1);
      long m = a.shape().dim(ta ? 1 : 0);
      long n = b.shape().dim(tb ? 0 : 1);
      if (k != b.shape().dim(tb ? 1 : 0) || bias.shape().rank() != 1 || bias.elements() != n) {
        throw MillraceException.invalid(
            "shapes do not fit: a is %s, b is %s, bias is %s.", a.shape(), b.shape(), bias.shape());
      }
      Tensor y = c.allocate(0, product.of(a.shape(), b.shape()));
      Gemm.run(
          type,
          ta,
          tb,
          Math.toIntExact(m),
          Math.toIntExact(n),
          Math.toIntExact(k),
          a.data(),
          b.data(),
          y.data(),
          false);
      if (ChannelBias.supports(y)) {
        ChannelBias.add(y, bias, relu, y);
      } else {
        Elementwise.binary(BinaryOp.ADD, y, bias, y);
      }
      if (activation != null && !(relu && ChannelBias.supports(y))) {
        Elementwise.unary(activation, y, y);
      }
    };
  }
}
