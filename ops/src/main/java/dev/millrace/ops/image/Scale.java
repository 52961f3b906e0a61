package dev.millrace.ops.image;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;

/** Which places of an image along one dimension each place of the resized image is made of. */
final class Scale {
  private final int in;
  private final float step;
  private final boolean half;
  private final boolean corners;

  /** From {@code in} places to {@code out}. */
  Scale(int in, int out, boolean corners, boolean half) {
    this.in = in;
    this.half = half;
    this.corners = corners;
    this.step = corners && out > 1 ? (in - 1) / (float) (out - 1) : in / (float) out;
  }

  static boolean corners(Node node) {
    return node.booleanAttr("align_corners");
  }

  /** Whether places are meant at their middle; cannot be together with aligned corners. */
  static boolean half(Node node) {
    boolean half = node.hasAttr("half_pixel_centers") && node.booleanAttr("half_pixel_centers");
    if (half && corners(node)) {
      throw MillraceException.invalid(
          "If half_pixel_centers is True, align_corners must be False.");
    }
    return half;
  }

  private float place(int i) {
    return half ? (i + 0.5f) * step - 0.5f : i * step;
  }

  /** The place of the image at or before place {@code i} of the result. */
  int lower(int i) {
    return Math.max((int) Math.floor(place(i)), 0);
  }

  int upper(int i) {
    return Math.min((int) Math.ceil(place(i)), in - 1);
  }

  /** The weight of the upper of the two. */
  float weight(int i) {
    float p = place(i);
    return p - (float) Math.floor(p);
  }

  int nearest(int i) {
    float p = half ? (i + 0.5f) * step : i * step;
    double whole = corners ? Math.floor(p + 0.5) : Math.floor(p);
    return Math.max(0, Math.min((int) whole, in - 1));
  }

  /** Where the stretch begins that place {@code i} is the mean of. */
  float begin(int i) {
    return i * step;
  }

  float step() {
    return step;
  }

  /** How much of place {@code k} the stretch of place {@code i} of the result covers. */
  float share(int i, int k) {
    float from = begin(i);
    float to = begin(i + 1);
    if (k < from) {
      return k + 1 > to ? step : k + 1 - from;
    }
    return k + 1 > to ? to - k : 1;
  }
}
