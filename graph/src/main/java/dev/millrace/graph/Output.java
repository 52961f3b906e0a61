package dev.millrace.graph;

import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;

/** One output of a node, the source of edges in the graph. */
public final class Output {
  private final Node node;
  private final int index;
  private final DType dtype;
  private final boolean ref;
  private volatile Shape shape = Shape.unknown();

  Output(Node node, int index, DType dtype, boolean ref) {
    this.node = node;
    this.index = index;
    this.dtype = dtype;
    this.ref = ref;
  }

  /** The node whose output this is. */
  public Node node() {
    return node;
  }

  /** The index of this output among those of its node. */
  public int index() {
    return index;
  }

  /** The type of its elements. */
  public DType dtype() {
    return dtype;
  }

  /** The loops and branches in which it is computed. */
  public Region region() {
    return node.op().role() == Op.Role.SWITCH && node.input(1) != null
        ? node.region().afterSwitch(node, index)
        : node.region();
  }

  /** Whether this is a reference to a variable rather than a value. */
  public boolean isRef() {
    return ref;
  }

  /** The inferred shape, possibly partly unknown. */
  public Shape shape() {
    return shape;
  }

  /**
   * Adds what the caller knows about the shape to what was inferred; throws if the two contradict.
   */
  public void refineShape(Shape known) {
    shape = shape.mergeWith(known);
  }

  /** Replaces the inferred shape by a weaker one, as the back edge of a loop requires. */
  void forgetShape(Shape weaker) {
    shape = weaker;
  }

  /** TensorFlow's name for it: {@code node:index}. */
  public String name() {
    return node.name() + ":" + index;
  }

  /** The name as it stands in a NodeDef's inputs: index 0 is left out. */
  public String inputName() {
    return index == 0 ? node.name() : name();
  }

  @Override
  public String toString() {
    return name() + " " + dtype + shape;
  }
}
