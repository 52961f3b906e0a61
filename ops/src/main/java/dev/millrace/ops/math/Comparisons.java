package dev.millrace.ops.math;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.ShapeContext;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.math.elementwise.BinaryOp;
import dev.millrace.tensor.math.elementwise.Comparison;
import dev.millrace.tensor.math.elementwise.Elementwise;
import java.util.List;

/** Questions about two elements, broadcast against each other; the answers are bool. */
public final class Comparisons {
  private static final String WHY = "truth values are not differentiable";

  public static final Op EQUAL = equality("Equal", Comparison.EQUAL);
  public static final Op NOT_EQUAL = equality("NotEqual", Comparison.NOT_EQUAL);
  public static final Op LESS = order("Less", Comparison.LESS);
  public static final Op LESS_EQUAL = order("LessEqual", Comparison.LESS_EQUAL);
  public static final Op GREATER = order("Greater", Comparison.GREATER);
  public static final Op GREATER_EQUAL = order("GreaterEqual", Comparison.GREATER_EQUAL);
  public static final Op LOGICAL_AND = logical("LogicalAnd", BinaryOp.AND);
  public static final Op LOGICAL_OR = logical("LogicalOr", BinaryOp.OR);

  static final List<Op> ALL =
      List.of(EQUAL, NOT_EQUAL, LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, LOGICAL_AND, LOGICAL_OR);

  private Comparisons() {}

  /** Whether {@code x == y}, element by element; dimensions of size 1 are repeated to fit. */
  public static Output equal(Scope scope, Output x, Output y) {
    return scope.add(EQUAL, x, y).output();
  }

  /** Whether {@code x < y}. */
  public static Output less(Scope scope, Output x, Output y) {
    return scope.add(LESS, x, y).output();
  }

  /** Whether {@code x > y}. */
  public static Output greater(Scope scope, Output x, Output y) {
    return scope.add(GREATER, x, y).output();
  }

  /** Whether {@code x >= y}. */
  public static Output greaterEqual(Scope scope, Output x, Output y) {
    return scope.add(GREATER_EQUAL, x, y).output();
  }

  private static Op equality(String name, Comparison f) {
    return Op.define(name)
        .attr("T: type")
        .attr("incompatible_shape_error: bool = true")
        .input("x: T")
        .input("y: T")
        .output("z: bool")
        .commutative()
        .shape(Comparisons::equalityShape)
        .kernelPerNode(node -> equalityKernel(node, f))
        .noGradient(WHY)
        .build();
  }

  private static Op order(String name, Comparison f) {
    return Op.define(name)
        .attr("T: realnumbertype")
        .input("x: T")
        .input("y: T")
        .output("z: bool")
        .shape(Shapes.broadcast())
        .kernel(kernel(f))
        .noGradient(WHY)
        .build();
  }

  private static Op logical(String name, BinaryOp f) {
    return Op.define(name)
        .input("x: bool")
        .input("y: bool")
        .output("z: bool")
        .commutative()
        .shape(Shapes.broadcast())
        .kernel(
            c -> {
              Shape s = Shape.broadcast(c.input(0).shape(), c.input(1).shape());
              Elementwise.binary(f, c.input(0), c.input(1), UnaryGrad.result(c, s));
            })
        .noGradient(WHY)
        .build();
  }

  private static Kernel kernel(Comparison f) {
    return c -> {
      Shape s = Shape.broadcast(c.input(0).shape(), c.input(1).shape());
      Elementwise.compare(f, c.input(0), c.input(1), c.allocate(0, s));
    };
  }

  private static List<Shape> equalityShape(ShapeContext c) {
    if (c.node().booleanAttr("incompatible_shape_error")) {
      return List.of(Shape.broadcast(c.input(0), c.input(1)));
    }
    // Shapes that do not agree give a scalar, which can be known only once both shapes are.
    if (!c.input(0).isKnown() || !c.input(1).isKnown()) {
      return List.of(Shape.unknown());
    }
    Shape s = broadcastOrNull(c.input(0), c.input(1));
    return List.of(s == null ? Shape.scalar() : s);
  }

  private static Kernel equalityKernel(Node node, Comparison f) {
    DType type = node.input(0).dtype();
    boolean supported = DType.NUMERIC.contains(type) || type == DType.BOOL || type == DType.STRING;
    Refusal.unless(supported, node, type);
    if (node.booleanAttr("incompatible_shape_error")) {
      return kernel(f);
    }
    return c -> {
      Shape s = broadcastOrNull(c.input(0).shape(), c.input(1).shape());
      if (s == null) {
        c.allocate(0, Shape.scalar()).setLong(0, f == Comparison.NOT_EQUAL ? 1 : 0);
      } else {
        Elementwise.compare(f, c.input(0), c.input(1), c.allocate(0, s));
      }
    };
  }

  private static Shape broadcastOrNull(Shape x, Shape y) {
    try {
      return Shape.broadcast(x, y);
    } catch (MillraceException e) {
      return null;
    }
  }
}
