package dev.millrace.ops.nn;

import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.StridedCopy;
import dev.millrace.tensor.math.conv.Conv2D;

/**
 * A convolution whose images have a multiple of the channels its filter takes: channels and filters
 * fall into as many groups, each convolved on its own. The groups are cut out and put back, which
 * costs a copy of all operands.
 *
 * @param each the convolution of one group
 * @param count how many groups there are
 */
record ChannelGroups(Conv2D each, int count) {
  void forward(Tensor x, Tensor filter, Tensor y) {
    if (count == 1) {
      each.forward(x.data(), filter.data(), y.data());
      return;
    }
    for (int g = 0; g < count; g++) {
      try (Part images = new Part(x, g, true);
          Part filters = new Part(filter, g, true);
          Part out = new Part(y, g, false)) {
        each.forward(images.of.data(), filters.of.data(), out.of.data());
        out.putBack();
      }
    }
  }

  void backwardInput(Tensor dx, Tensor filter, Tensor dy) {
    if (count == 1) {
      each.backwardInput(dx.data(), filter.data(), dy.data());
      return;
    }
    for (int g = 0; g < count; g++) {
      try (Part images = new Part(dx, g, false);
          Part filters = new Part(filter, g, true);
          Part out = new Part(dy, g, true)) {
        each.backwardInput(images.of.data(), filters.of.data(), out.of.data());
        images.putBack();
      }
    }
  }

  void backwardFilter(Tensor x, Tensor df, Tensor dy) {
    if (count == 1) {
      each.backwardFilter(x.data(), df.data(), dy.data());
      return;
    }
    for (int g = 0; g < count; g++) {
      try (Part images = new Part(x, g, true);
          Part filters = new Part(df, g, false);
          Part out = new Part(dy, g, true)) {
        each.backwardFilter(images.of.data(), filters.of.data(), out.of.data());
        filters.putBack();
      }
    }
  }

  /** One group's share of the last dimension of a tensor, as a tensor of its own. */
  private final class Part implements AutoCloseable {
    private final Tensor whole;
    private final long start;
    private final Tensor of;

    Part(Tensor whole, int group, boolean filled) {
      Shape s = whole.shape();
      long share = s.dim(-1) / count;
      this.whole = whole;
      this.start = group * share;
      this.of = Refs.allocate(whole.dtype(), s.withDim(s.rank() - 1, share));
      if (filled) {
        StridedCopy.copy(box(), whole, start, steps(whole), of, 0, steps(of));
      }
    }

    void putBack() {
      StridedCopy.copy(box(), of, 0, steps(of), whole, start, steps(whole));
    }

    private long[] box() {
      long share = of.shape().dim(-1);
      return new long[] {share == 0 ? 0 : of.elements() / share, share};
    }

    private long[] steps(Tensor t) {
      return new long[] {t.shape().dim(-1), 1};
    }

    @Override
    public void close() {
      Refs.release(of);
    }
  }
}
