package dev.millrace.graph;

import dev.millrace.base.MillraceException;

/** Adds to the graph the ops that carry gradients from a node's outputs to its inputs. */
@FunctionalInterface
public interface Gradient {
  /** Adds the nodes that compute the gradients of the inputs and names them to {@code g}. */
  void build(GradientContext g);

  /**
   * A gradient that exists mathematically but is not implemented: requesting it is an error. (An op
   * through which no gradient flows uses {@link Op.Builder#noGradient} instead.)
   */
  static Gradient undefined(String why) {
    return new Undefined(why);
  }

  /** The result of {@link #undefined}. */
  record Undefined(String why) implements Gradient {
    @Override
    public void build(GradientContext g) {
      throw MillraceException.invalid(
          "The gradient of %s '%s' was asked for, but %s. Use StopGradient where none is meant.",
          g.node().op().name(), g.node().name(), why);
    }
  }
}
