package dev.millrace.graph.shape;

import dev.millrace.graph.Op;
import dev.millrace.tensor.Shape;
import java.util.Collections;
import java.util.List;

/** Shape functions that many ops share. */
public final class Shapes {
  private Shapes() {}

  /** No outputs. */
  public static Op.ShapeFunction none() {
    return c -> List.of();
  }

  /** One output of the shape of input {@code i}. */
  public static Op.ShapeFunction like(int i) {
    return c -> List.of(c.input(i));
  }

  /** One output of this shape. */
  public static Op.ShapeFunction of(Shape shape) {
    return c -> List.of(shape);
  }

  /** One scalar output. */
  public static Op.ShapeFunction scalar() {
    return of(Shape.scalar());
  }

  /** One output whose shape is an attribute. */
  public static Op.ShapeFunction attr(String name) {
    return c -> List.of(c.node().shapeAttr(name));
  }

  /** One output: inputs 0 and 1 broadcast against each other. */
  public static Op.ShapeFunction broadcast() {
    return c -> List.of(Shape.broadcast(c.input(0), c.input(1)));
  }

  /** As many unknown shapes as there are outputs. */
  public static Op.ShapeFunction unknown() {
    return c -> Collections.nCopies(c.node().outputCount(), Shape.unknown());
  }
}
