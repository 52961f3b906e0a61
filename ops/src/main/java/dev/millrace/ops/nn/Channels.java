package dev.millrace.ops.nn;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.tensor.Shape;

/** Where a node's {@code data_format} has its channels: second or last of so many dimensions. */
record Channels(String format) {
  static Channels of(Node node) {
    return new Channels(node.stringAttr("data_format"));
  }

  boolean areSecond() {
    return format.charAt(1) == 'C';
  }

  /** The shape itself, which must have as many dimensions as the format. */
  Shape checked(Shape s) {
    if (!s.hasRank()) {
      return Shape.unknownOfRank(format.length());
    }
    if (s.rank() != format.length()) {
      throw MillraceException.invalid(
          "the input must have rank %d for data_format %s; it has shape %s.",
          format.length(), format, s);
    }
    return s;
  }

  int axis(Shape s) {
    return areSecond() ? 1 : s.rank() - 1;
  }

  long channels(Shape s) {
    return s.hasRank() ? s.dim(axis(s)) : Shape.UNKNOWN;
  }

  /** How often the channels are gone through. */
  long outer(Shape s) {
    return s.slice(0, axis(s)).elements();
  }

  /** How many elements of a channel lie side by side. */
  long inner(Shape s) {
    return s.slice(axis(s) + 1, s.rank()).elements();
  }
}
