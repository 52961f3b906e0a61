package dev.millrace.graph.op;

import dev.millrace.base.MillraceException;

/** Adds to the graph the ops that carry gradients from a node's outputs to its inputs. */
@FunctionalInterface
public interface Gradient {
  /** Adds the nodes that compute the gradients of the inputs and names them to {@code g}. */
  void build(GradientContext g);

  /**
   * The gradient of an op that has one in theory but not here: asking for it is an error. (An op
   * whose gradient is zero by nature says {@link Op.Builder#noGradient} instead.)
   */
  static Gradient undefined(String why) {
    return new Undefined(why);
  }

  /** What {@link #undefined} gives. */
  record Undefined(String why) implements Gradient {
    @Override
    public void build(GradientContext g) {
      throw MillraceException.invalid(
          "The gradient of %s '%s' was asked for, but %s. Use StopGradient where none is meant.",
          g.node().op().name(), g.node().name(), why);
    }
  }
}
