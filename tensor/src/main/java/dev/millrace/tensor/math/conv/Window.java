package dev.millrace.tensor.math.conv;

import dev.millrace.base.MillraceException;

/**
 * How a window moves along one dimension of an image: a filter of a convolution, or the area that a
 * pooling looks at.
 *
 * @param size positions the window looks at
 * @param stride from one place of the window to the next
 * @param dilation from one position in the window to the next; 1 has no gaps
 * @param before zeros (or, for a pooling, nothing) before the first element of the image
 * @param after likewise after the last
 */
public record Window(int size, int stride, int dilation, int before, int after) {
  public Window {
    if (size < 1 || stride < 1 || dilation < 1 || before < 0 || after < 0) {
      throw MillraceException.invalid(
          "A window needs size, stride and dilation of at least 1 and no negative padding; given"
              + " size %d, stride %d, dilation %d, padding %d and %d.",
          size, stride, dilation, before, after);
    }
  }

  /** TensorFlow's VALID: no padding. */
  public static Window valid(int size, int stride, int dilation) {
    return new Window(size, stride, dilation, 0, 0);
  }

  /** TensorFlow's SAME: as many outputs as places at {@code stride} in an input of that length. */
  public static Window same(int input, int size, int stride, int dilation) {
    int outputs = (input + stride - 1) / stride;
    int reach = (size - 1) * dilation + 1;
    int padding = Math.max((outputs - 1) * stride + reach - input, 0);
    return new Window(size, stride, dilation, padding / 2, padding - padding / 2);
  }

  /** Places the window has in an input of that length; 0 if it does not fit once. */
  public int outputs(int input) {
    int room = input + before + after - reach();
    return room < 0 ? 0 : room / stride + 1;
  }

  /** Elements from the first position of the window to its last. */
  int reach() {
    return (size - 1) * dilation + 1;
  }

  /** The first position of the window, at its place {@code output}, that lies in the image. */
  int firstInside(int output) {
    int start = output * stride - before;
    return start >= 0 ? 0 : (-start + dilation - 1) / dilation;
  }

  /** One more than the last position of the window that lies in an image of that length. */
  int lastInside(int output, int input) {
    int start = output * stride - before;
    return Math.clamp((input - start + dilation - 1) / dilation, 0, size);
  }
}
