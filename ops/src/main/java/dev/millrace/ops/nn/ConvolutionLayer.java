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
import dev.millrace.ops.array.Axis;
import dev.millrace.ops.array.ShapeOf;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.conv.ChannelBias;
import dev.millrace.tensor.math.conv.ConvLayer;
import dev.millrace.tensor.math.conv.ImagePool;
import dev.millrace.tensor.math.reduce.ChannelSum;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * The layer of a convolutional network as one node: {@code MaxPool(Relu(BiasAdd(Conv2D)))}, and as
 * another its gradients. A layer's images are large and the steps between them simple, so that
 * going through memory for each of them costs more than computing it.
 *
 * @param conv the Conv2D
 * @param relu the Relu, whose output is read backwards too
 * @param pool the MaxPool, or its gradient
 */
record ConvolutionLayer(Node conv, Node bias, Node relu, Node pool) {
  /** The layer whose relu is {@code relu}, or null if there is none that can be computed as one. */
  private static ConvolutionLayer of(Node relu, Node pool) {
    if (relu.op() != Activations.RELU || relu.output(0).dtype() != DType.FLOAT) {
      return null;
    }
    Node bias = relu.input(0).node();
    if (bias.op() != BiasAdd.OP || bias.input(0).node().op() != ConvolutionOps.OP) {
      return null;
    }
    Node conv = bias.input(0).node();
    for (Node n : List.of(conv, bias, pool)) {
      if (!n.stringAttr("data_format").equals("NHWC")) {
        return null;
      }
    }
    return new ConvolutionLayer(conv, bias, relu, pool);
  }

  /** Matches a layer at its MaxPool. */
  static Fused match(Node last, Readers readers) {
    ConvolutionLayer layer = last.op() == Pool.MAX ? of(last.input(0).node(), last) : null;
    return layer == null ? null : layer.forward();
  }

  private Fused forward() {
    Op op =
        Op.define("_ConvolutionLayer")
            .input("input: float")
            .input("filter: float")
            .input("bias: float")
            .output("pooled: float")
            .output("output: float")
            .shape(_ -> List.of(pool.output(0).shape(), relu.output(0).shape()))
            .kernelPerNode(_ -> forwardKernel())
            .gradient(Gradient.undefined("it appears only after gradients have been added"))
            .build();
    return new Fused(
        op,
        Map.of(),
        List.of(conv.input(0), conv.input(1), bias.input(1)),
        List.of(relu, bias, conv),
        List.of(relu.output(0)));
  }

  private Kernel forwardKernel() {
    ImageWindow w = ConvolutionOps.prepared(conv);
    Pool.Plan plan = Pool.Plan.of(pool);
    return c -> {
      Tensor x = c.input(0);
      Tensor filter = c.input(1);
      Tensor biases = c.input(2);
      FusedConvolution.checkBias(biases, filter);
      ChannelGroups groups = ConvolutionOps.groups(w, x.dtype(), x.shape(), filter.shape());
      Shape out = ConvolutionOps.output(w, x.shape(), filter.shape());
      Tensor pooled = c.allocate(0, plan.output(out));
      Tensor y = c.allocate(1, out);
      ImagePool windows = pooled.elements() == 0 ? null : plan.over(out);
      ConvLayer layer = new ConvLayer(groups.each(), true, windows);
      if (groups.count() == 1 && layer.isSupported()) {
        layer.forward(x.data(), filter.data(), biases.data(), y.data(), pooled.data());
        return;
      }
      groups.forward(x, filter, y);
      ChannelBias.add(y, biases, true, y);
      if (windows != null) {
        windows.max(y, pooled);
      }
    };
  }

  /**
   * Matches the gradients of a layer at that of its filter. The gradient of its input is one of the
   * group if there is one, which there is not in the first layer.
   */
  static Fused matchGradient(Node last, Readers readers) {
    if (last.op() != ConvolutionOps.BACKPROP_FILTER) {
      return null;
    }
    Node before = last.input(2).node();
    // An Identity stands between them where TensorFlow's gradients wait for each other.
    boolean direct = !before.op().name().equals("Identity");
    Node reluGrad = direct ? before : before.input(0).node();
    if (reluGrad.op() != Activations.RELU_GRAD) {
      return null;
    }
    Node poolGrad = reluGrad.input(0).node();
    if (poolGrad.op() != Pool.MAX_GRAD || poolGrad.input(0) != reluGrad.input(1)) {
      return null;
    }
    ConvolutionLayer layer = of(poolGrad.input(0).node(), poolGrad);
    if (layer == null
        || layer.conv.input(0) != last.input(0)
        || !ConvolutionOps.haveSameSettings(layer.conv, last)) {
      return null;
    }
    List<Node> others = new ArrayList<>(readers.of(reluGrad));
    if (!direct) {
      others.remove(before);
      others.addAll(readers.of(before));
    }
    others.remove(last);
    return layer.backward(last, reluGrad, direct ? null : before, others);
  }

  /** The gradients as one, where {@code others} are those of bias and input and nothing else. */
  private Fused backward(Node last, Node reluGrad, Node identity, List<Node> others) {
    Node biasGrad = null;
    Node inputGrad = null;
    for (Node n : others) {
      if (n.op() == BiasAdd.GRAD && biasGrad == null) {
        biasGrad = n;
      } else if (isGradientOfInput(n) && inputGrad == null) {
        inputGrad = n;
      } else {
        return null;
      }
    }
    if (biasGrad == null) {
      return null;
    }
    List<Node> absorbed = new ArrayList<>(List.of(pool, reluGrad, biasGrad));
    List<Output> inputs =
        new ArrayList<>(
            List.of(last.input(0), last.input(1), pool.input(0), pool.input(1), pool.input(2)));
    List<Output> exposed = new ArrayList<>(List.of(biasGrad.output(0)));
    Op.Builder op =
        Op.define("_ConvolutionLayerGradient")
            .attr("Tsizes: type")
            .input("input: float")
            .input("filter_sizes: Tsizes")
            .input("output: float")
            .input("pooled: float")
            .input("grad: float");
    List<Shape> shapes = new ArrayList<>();
    shapes.add(last.output(0).shape());
    shapes.add(biasGrad.output(0).shape());
    if (identity != null) {
      absorbed.add(identity);
    }
    if (inputGrad != null) {
      absorbed.add(inputGrad);
      inputs.add(inputGrad.input(1));
      exposed.add(inputGrad.output(0));
      shapes.add(inputGrad.output(0).shape());
      op.input("filter: float");
    }
    op.output("filter_grad: float").output("bias_grad: float");
    if (inputGrad != null) {
      op.output("input_grad: float");
    }
    boolean toInput = inputGrad != null;
    op.shape(_ -> shapes)
        .kernelPerNode(_ -> backwardKernel(toInput))
        .gradient(Gradient.undefined("it appears only after gradients have been added"));
    return new Fused(
        op.build(),
        Map.of("Tsizes", AttrValue.of(last.input(1).dtype())),
        inputs,
        absorbed,
        exposed);
  }

  private boolean isGradientOfInput(Node n) {
    return n.op() == ConvolutionOps.BACKPROP_INPUT
        && n.input(1) == conv.input(1)
        && ConvolutionOps.haveSameSettings(conv, n)
        && ShapeOf.isShapeOf(n.input(0), conv.input(0));
  }

  private Kernel backwardKernel(boolean toInput) {
    ImageWindow w = ConvolutionOps.prepared(conv);
    Pool.Plan plan = Pool.Plan.of(pool);
    return c -> {
      Tensor x = c.input(0);
      Shape filter = Axis.shape(c.input(1));
      Tensor y = c.input(2);
      Tensor pooled = c.input(3);
      Tensor dPooled = c.input(4);
      ChannelGroups groups = ConvolutionOps.groups(w, x.dtype(), x.shape(), filter);
      ConvolutionOps.checkBackprop(w, x.shape(), filter, y.shape());
      Shape small = plan.output(y.shape());
      if (!pooled.shape().equals(small) || !dPooled.shape().equals(small)) {
        throw MillraceException.invalid(
            "Expected the pooled output and its gradient to have shape %s; they have %s and %s.",
            small, pooled.shape(), dPooled.shape());
      }
      Tensor dFilter = c.allocate(0, filter);
      Tensor dBias = c.allocate(1, Shape.of(filter.dim(3)));
      Tensor dx = toInput ? c.allocate(2, x.shape()) : null;
      ImagePool windows = small.elements() == 0 ? null : plan.over(y.shape());
      ConvLayer layer = new ConvLayer(groups.each(), true, windows);
      if (groups.count() == 1 && windows != null && layer.isSupported()) {
        layer.backward(
            x.data(),
            toInput ? c.input(5).data() : null,
            y.data(),
            pooled.data(),
            dPooled.data(),
            toInput ? dx.data() : null,
            dFilter.data(),
            dBias.data());
        return;
      }
      Tensor dy = Refs.allocate(y.dtype(), y.shape());
      try {
        if (windows == null) {
          dy.data().fill((byte) 0);
        } else {
          windows.maxGradient(y, pooled, dPooled, true, dy);
        }
        groups.backwardFilter(x, dFilter, dy);
        ChannelSum.run(dy, dBias, dy.elements() / Math.max(1, filter.dim(3)), filter.dim(3), 1);
        if (toInput) {
          groups.backwardInput(dx, c.input(5), dy);
        }
      } finally {
        Refs.release(dy);
      }
    };
  }
}
