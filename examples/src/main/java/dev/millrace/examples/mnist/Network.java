package dev.millrace.examples.mnist;

import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Reshape;
import dev.millrace.tensor.Shape;
import dev.millrace.train.layers.Convolution;
import dev.millrace.train.layers.Dense;
import dev.millrace.train.layers.Flatten;
import dev.millrace.train.layers.Padding;
import dev.millrace.train.layers.Pooling;
import dev.millrace.train.variable.VariableScope;
import java.util.Locale;

/** The networks that tell digits apart. */
public enum Network {
  /** One layer: softmax regression. */
  SOFTMAX(10) {
    @Override
    Output logits(VariableScope model, Output images) {
      return Dense.of(model, "softmax", images, MnistData.CLASSES);
    }
  },

  /** Two hidden layers. */
  MLP(10) {
    @Override
    Output logits(VariableScope model, Output images) {
      Output h = Dense.of(model, "hidden1", images, 256, Network::relu);
      h = Dense.of(model, "hidden2", h, 128, Network::relu);
      return Dense.of(model, "logits", h, MnistData.CLASSES);
    }
  },

  /** Two convolutions, each followed by pooling, and two dense layers. */
  CNN(5) {
    @Override
    Output logits(VariableScope model, Output images) {
      Scope s = model.scope();
      Output x = Reshape.of(s, images, Shape.of(-1, 28, 28, 1));
      x = Convolution.of(16, 5).activation(Network::relu).of(model, "conv1", x);
      x = Pooling.max(s, x, 2, 2, Padding.SAME);
      x = Convolution.of(32, 5).activation(Network::relu).of(model, "conv2", x);
      x = Pooling.max(s, x, 2, 2, Padding.SAME);
      x = Dense.of(model, "dense", Flatten.of(s, x), 128, Network::relu);
      return Dense.of(model, "logits", x, MnistData.CLASSES);
    }
  };

  private final int usualEpochs;

  Network(int usualEpochs) {
    this.usualEpochs = usualEpochs;
  }

  /** How often it should see the training images to be about as good as it gets. */
  public int usualEpochs() {
    return usualEpochs;
  }

  /** Adds the network over rows of pixels; its result has one column per digit. */
  abstract Output logits(VariableScope model, Output images);

  private static Output relu(Scope scope, Output x) {
    return scope.node("Relu").input(x).add().output();
  }

  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
