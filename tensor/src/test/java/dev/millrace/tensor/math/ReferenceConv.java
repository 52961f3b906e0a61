package dev.millrace.tensor.math;

import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.conv.Conv2D;
import dev.millrace.tensor.math.conv.ConvResult;

/** What a convolution and its gradients are: every product of an input and a filter, one by one. */
public final class ReferenceConv {
  private final Conv2D c;
  private final double[] input;
  private final double[] filter;
  private final double[] output;

  private ReferenceConv(Conv2D c, double[] input, double[] filter, double[] output) {
    this.c = c;
    this.input = input;
    this.filter = filter;
    this.output = output;
  }

  /** The array that {@code result} names, from the other two. */
  public static double[] of(
      Conv2D c, ConvResult result, Tensor input, Tensor filter, Tensor output) {
    boolean toInput = result == ConvResult.INPUT;
    boolean toFilter = result == ConvResult.FILTER;
    boolean toOutput = result == ConvResult.OUTPUT;
    ReferenceConv r =
        new ReferenceConv(
            c,
            toInput ? new double[(int) input.elements()] : input.toDoubles(),
            toFilter ? new double[(int) filter.elements()] : filter.toDoubles(),
            toOutput ? new double[(int) output.elements()] : output.toDoubles());
    r.run(result);
    return toInput ? r.input : toFilter ? r.filter : r.output;
  }

  private void run(ConvResult result) {
    for (int b = 0; b < c.batch(); b++) {
      for (int y = 0; y < c.outputHeight(); y++) {
        for (int x = 0; x < c.outputWidth(); x++) {
          for (int i = 0; i < c.rows().size(); i++) {
            for (int j = 0; j < c.columns().size(); j++) {
              int row = y * c.rows().stride() + i * c.rows().dilation() - c.rows().before();
              int col =
                  x * c.columns().stride() + j * c.columns().dilation() - c.columns().before();
              if (row >= 0 && row < c.height() && col >= 0 && col < c.width()) {
                pixel(
                    result,
                    ((b * c.height() + row) * c.width() + col) * c.channels(),
                    (i * c.columns().size() + j) * (c.channels() / c.groups()) * c.filters(),
                    ((b * c.outputHeight() + y) * c.outputWidth() + x) * c.filters());
              }
            }
          }
        }
      }
    }
  }

  private void pixel(ConvResult result, int in, int weights, int out) {
    int channels = c.channels() / c.groups();
    int filters = c.filters() / c.groups();
    for (int f = 0; f < c.filters(); f++) {
      for (int k = 0; k < channels; k++) {
        int w = weights + k * c.filters() + f;
        int i = in + f / filters * channels + k;
        switch (result) {
          case OUTPUT -> output[out + f] += input[i] * filter[w];
          case INPUT -> input[i] += output[out + f] * filter[w];
          case FILTER -> filter[w] += input[i] * output[out + f];
        }
      }
    }
  }
}
