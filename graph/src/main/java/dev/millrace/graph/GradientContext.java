package dev.millrace.graph;

/**
 * The context in which a node builds its gradients: the gradients of its outputs, and methods to
 * set those of its inputs. An input that is not set gets no gradient.
 */
public interface GradientContext {
  /** The scope for the gradient's ops, colocated with the node if gradients are colocated. */
  Scope scope();

  /** The node whose gradient is asked for. */
  Node node();

  /** Whether output {@code i} has a gradient. */
  boolean hasGradient(int i);

  /** The gradient of output {@code i}; zeros of its shape where there is none. */
  Output dy(int i);

  /** The gradient of the first output. */
  default Output dy() {
    return dy(0);
  }

  /** Input {@code i} of the node. */
  default Output input(int i) {
    return node().input(i);
  }

  /** Output {@code i} of the node. */
  default Output output(int i) {
    return node().output(i);
  }

  /**
   * Passes the gradient of output {@code o} to input {@code i} unchanged. A sparse gradient stays
   * sparse. Does nothing if there is none.
   */
  void pass(int o, int i);

  /** Sets the gradient of input {@code i}. */
  void dx(int i, Output gradient);

  /**
   * Sets a sparse gradient of input {@code i}: {@code values} are the non-zero rows, {@code
   * indices} their positions, {@code denseShape} the full shape.
   */
  void dxRows(int i, Output values, Output indices, Output denseShape);
}
