package dev.millrace.ops.nn;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.AttrValue;
import dev.millrace.graph.Fusion.Fused;
import dev.millrace.graph.Fusion.Readers;
import dev.millrace.graph.Gradient;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.conv.ChannelBias;
import dev.millrace.tensor.math.conv.ConvLayer;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** A convolution with bias, and relu if there is one, whose output is gone over once. */
final class FusedConvolution {
  private static final Op OP =
      ConvolutionOps.settings(
              Op.define("_ConvolutionWithBias")
                  .attr("T: {float, double}")
                  .attr("relu: bool")
                  .input("input: T")
                  .input("filter: T")
                  .input("bias: T"))
          .output("output: T")
          .shape(c -> List.of(ConvolutionOps.output(c)))
          .kernelPerNode(FusedConvolution::kernel)
          .gradient(Gradient.undefined("it appears only after gradients have been added"))
          .build();

  private FusedConvolution() {}

  /** Matches {@code Relu(BiasAdd(Conv2D))} and {@code BiasAdd(Conv2D)}. */
  static Fused match(Node last, Readers readers) {
    boolean relu = last.op() == Activations.RELU;
    Node bias = relu ? last.input(0).node() : last;
    if (bias.op() != BiasAdd.OP || !bias.stringAttr("data_format").equals("NHWC")) {
      return null;
    }
    Node conv = bias.input(0).node();
    DType type = last.output(0).dtype();
    if (conv.op() != ConvolutionOps.OP
        || !conv.stringAttr("data_format").equals("NHWC")
        || (type != DType.FLOAT && type != DType.DOUBLE)) {
      return null;
    }
    Map<String, AttrValue> attrs = new HashMap<>(conv.attrs());
    attrs.put("relu", AttrValue.of(relu));
    List<Output> inputs = List.of(conv.input(0), conv.input(1), bias.input(1));
    return new Fused(OP, attrs, inputs, relu ? List.of(bias, conv) : List.of(conv));
  }

  private static Kernel kernel(Node node) {
    ImageWindow w = ConvolutionOps.prepared(node);
    boolean relu = node.booleanAttr("relu");
    return c -> {
      Tensor x = c.input(0);
      Tensor filter = c.input(1);
      Tensor bias = c.input(2);
      checkBias(bias, filter);
      ChannelGroups groups = ConvolutionOps.groups(w, x.dtype(), x.shape(), filter.shape());
      Tensor y = c.allocate(0, ConvolutionOps.output(w, x.shape(), filter.shape()));
      ConvLayer layer = new ConvLayer(groups.each(), relu, null);
      if (groups.count() == 1 && layer.isSupported()) {
        layer.forward(x.data(), filter.data(), bias.data(), y.data(), null);
      } else {
        groups.forward(x, filter, y);
        ChannelBias.add(y, bias, relu, y);
      }
    };
  }

  static void checkBias(Tensor bias, Tensor filter) {
    if (bias.shape().rank() != 1 || bias.elements() != filter.shape().dim(-1)) {
      throw MillraceException.invalid(
          "Must provide as many biases as there are filters: bias is %s, filter is %s.",
          bias.shape(), filter.shape());
    }
  }
}
