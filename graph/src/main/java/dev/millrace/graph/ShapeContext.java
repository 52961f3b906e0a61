package dev.millrace.graph;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;

/** What a shape function may ask about the node whose output shapes it works out. */
public final class ShapeContext {
  /** The most dimensions a tensor of TensorFlow has. */
  private static final int MAX_RANK = 254;

  private final Node node;

  public ShapeContext(Node node) {
    this.node = node;
  }

  /** The node, for its attributes. */
  public Node node() {
    return node;
  }

  /** How many inputs the node has. */
  public int inputCount() {
    return node.inputCount();
  }

  /** What is known of the shape of input {@code i}. */
  public Shape input(int i) {
    return node.input(i).shape();
  }

  /** The value of input {@code i} if it follows from constants alone, else null. Not owned. */
  public Tensor constant(int i) {
    return ConstantValue.of(node.input(i));
  }

  /**
   * The shape that input {@code i}, a vector of dimensions, describes: as much of it as is known
   * without running the graph.
   */
  public Shape constantAsShape(int i) {
    Output in = node.input(i);
    Shape s = ConstantValue.asShape(in);
    if (s != null) {
      return s;
    }
    if (in.shape().rank() != 1 || in.shape().dim(0) < 0) {
      return Shape.unknown();
    }
    long rank = in.shape().dim(0);
    if (rank > MAX_RANK) {
      throw MillraceException.invalid(
          "input %d ('%s') would be a shape of %d dimensions; there may be %d.",
          i, in.name(), rank, MAX_RANK);
    }
    return Shape.unknownOfRank((int) rank);
  }

  /** The shape of input {@code i}, which must have this rank. */
  public Shape inputOfRank(int i, int rank) {
    Shape s = input(i);
    if (!s.hasRank()) {
      return Shape.unknownOfRank(rank);
    }
    if (s.rank() != rank) {
      throw MillraceException.invalid(
          "input %d ('%s') must have rank %d; it has shape %s.", i, node.input(i).name(), rank, s);
    }
    return s;
  }
}
