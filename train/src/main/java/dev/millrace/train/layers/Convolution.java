package dev.millrace.train.layers;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.nn.BiasAdd;
import dev.millrace.tensor.Shape;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Initializer;
import dev.millrace.train.variable.Initializers;
import dev.millrace.train.variable.VariableScope;
import java.util.List;

/**
 * A convolutional layer over images with channels last, with variables {@code name/kernel} of shape
 * {@code [size, size, channels, filters]} and {@code name/bias}.
 *
 * @param filters how many channels the result has
 * @param size height and width of the window
 * @param stride how far windows are apart
 * @param padding what happens at the borders
 * @param activation what is applied last
 * @param kernel what the kernel starts with
 * @param bias what the bias starts with; null for a layer without one
 */
public record Convolution(
    int filters,
    int size,
    int stride,
    Padding padding,
    Activation activation,
    Initializer kernel,
    Initializer bias) {
  /** A layer of stride 1 that keeps the size, kernel glorot uniform and bias zero. */
  public static Convolution of(int filters, int size) {
    return new Convolution(
        filters,
        size,
        1,
        Padding.SAME,
        Activation.NONE,
        Initializers.glorotUniform(),
        Initializers.zeros());
  }

  /** Moves the window by {@code n} in both directions; 1 without this. */
  public Convolution stride(int n) {
    return new Convolution(filters, size, n, padding, activation, kernel, bias);
  }

  /** What happens at the edges. */
  public Convolution padding(Padding p) {
    return new Convolution(filters, size, stride, p, activation, kernel, bias);
  }

  /** The same with an activation, such as {@code Activations::relu}. */
  public Convolution activation(Activation f) {
    return new Convolution(filters, size, stride, padding, f, kernel, bias);
  }

  /** How the kernel begins. */
  public Convolution kernel(Initializer initial) {
    return new Convolution(filters, size, stride, padding, activation, initial, bias);
  }

  /** How the bias begins; zeros without this. */
  public Convolution bias(Initializer initial) {
    return new Convolution(filters, size, stride, padding, activation, kernel, initial);
  }

  /** Leaves the bias out. */
  public Convolution withoutBias() {
    return bias(null);
  }

  /** Adds the layer over {@code x}, a batch of images {@code [batch, height, width, channels]}. */
  public Output of(VariableScope model, String name, Output x) {
    Shape in = x.shape();
    if (in.rank() != 4 || in.dim(3) < 0) {
      throw MillraceException.invalid(
          "Convolution '%s': the input '%s' has shape %s; it needs to be [batch, height, width,"
              + " channels] with channels known. Reshape it.",
          name, x.name(), in);
    }
    VariableScope vs = model.withSubScope(name);
    Scope s = vs.scope();
    Shape shape = Shape.of(size, size, in.dim(3), filters);
    GraphVariable w = vs.variable("kernel", x.dtype(), shape, kernel);
    GraphVariable b = bias == null ? null : vs.variable("bias", x.dtype(), Shape.of(filters), bias);
    Output y =
        s.node("Conv2D")
            .input(x)
            .input(w.read())
            .attr("strides", List.of(1, stride, stride, 1))
            .attr("padding", padding.name())
            .add()
            .output();
    y = b == null ? y : BiasAdd.of(s, y, b.read());
    return activation.of(s, y);
  }
}
