package dev.millrace.train.layers;

import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import java.util.List;

/** Takes the largest or the mean of each window of an image, channel by channel. */
public final class Pooling {
  private Pooling() {}

  /** The largest of each {@code size x size} window, windows {@code stride} apart. */
  public static Output max(Scope scope, Output x, int size, int stride, Padding padding) {
    return pool(scope, "MaxPool", x, size, stride, padding);
  }

  /** The mean of each {@code size x size} window, windows {@code stride} apart. */
  public static Output average(Scope scope, Output x, int size, int stride, Padding padding) {
    return pool(scope, "AvgPool", x, size, stride, padding);
  }

  private static Output pool(
      Scope scope, String op, Output x, int size, int stride, Padding padding) {
    return scope
        .node(op)
        .input(x)
        .attr("ksize", List.of(1, size, size, 1))
        .attr("strides", List.of(1, stride, stride, 1))
        .attr("padding", padding.name())
        .add()
        .output();
  }
}
