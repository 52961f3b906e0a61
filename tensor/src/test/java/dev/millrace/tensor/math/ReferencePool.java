package dev.millrace.tensor.math;

import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.conv.ImagePool;

/** What pooling is, one window and one channel after the other. */
public final class ReferencePool {
  private final ImagePool p;
  private final double[] input;
  private final double[] output;
  private final double[] dInput;
  private final boolean max;

  private ReferencePool(ImagePool p, double[] input, double[] output, boolean max) {
    this.p = p;
    this.input = input;
    this.output = output;
    this.max = max;
    this.dInput = new double[input.length];
  }

  public static double[] forward(ImagePool p, boolean max, Tensor input, int outputs) {
    double[] output = new double[outputs];
    new ReferencePool(p, input.toDoubles(), output, max).run(true);
    return output;
  }

  public static double[] gradient(ImagePool p, boolean max, Tensor input, Tensor dOutput) {
    ReferencePool r = new ReferencePool(p, input.toDoubles(), dOutput.toDoubles(), max);
    r.run(false);
    return r.dInput;
  }

  private void run(boolean forward) {
    int out = 0;
    for (int b = 0; b < p.batch(); b++) {
      for (int y = 0; y < p.outputHeight(); y++) {
        for (int x = 0; x < p.outputWidth(); x++) {
          for (int c = 0; c < p.channels(); c++) {
            window(b, y, x, c, out++, forward);
          }
        }
      }
    }
  }

  private void window(int b, int y, int x, int c, int out, boolean forward) {
    int best = -1;
    double sum = 0;
    int count = 0;
    for (int i = 0; i < p.rows().size() * p.columns().size(); i++) {
      int at = index(b, y, x, c, i);
      if (at >= 0) {
        best = best < 0 || input[at] > input[best] ? at : best;
        sum += input[at];
        count++;
      }
    }
    if (forward) {
      output[out] = max ? input[best] : sum / count;
    } else if (max) {
      dInput[best] += output[out];
    } else {
      for (int i = 0; i < p.rows().size() * p.columns().size(); i++) {
        int at = index(b, y, x, c, i);
        if (at >= 0) {
          dInput[at] += output[out] / count;
        }
      }
    }
  }

  /** The element at a position of the window, or -1 in the padding. */
  private int index(int b, int y, int x, int c, int position) {
    int row = y * p.rows().stride() - p.rows().before() + position / p.columns().size();
    int col = x * p.columns().stride() - p.columns().before() + position % p.columns().size();
    boolean inside = row >= 0 && row < p.height() && col >= 0 && col < p.width();
    return inside ? ((b * p.height() + row) * p.width() + col) * p.channels() + c : -1;
  }
}
