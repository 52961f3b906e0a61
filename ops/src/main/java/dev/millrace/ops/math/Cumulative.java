package dev.millrace.ops.math;

import dev.millrace.graph.GradientContext;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.ops.array.Axis;
import dev.millrace.ops.array.Const;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.reduce.Scan;

/**
 * Running sums and products along a dimension. {@code exclusive} leaves an element's own value out
 * of its result; {@code reverse} begins at the end.
 */
public final class Cumulative {
  public static final Op SUM = define("Cumsum", false).gradient(Cumulative::ofSum).build();
  public static final Op PROD = define("Cumprod", true).gradient(Cumulative::ofProd).build();

  private Cumulative() {}

  private static Op.Builder define(String name, boolean product) {
    return Op.define(name)
        .attr("exclusive: bool = false")
        .attr("reverse: bool = false")
        .attr("T: numbertype")
        .attr("Tidx: {int32, int64} = int32")
        .input("x: T")
        .input("axis: Tidx")
        .output("out: T")
        .shape(Shapes.like(0))
        .kernelPerNode(node -> kernel(node, product));
  }

  /**
   * The sums of the elements up to each along {@code axis}; {@code exclusive} leaves out the
   * element itself, {@code reverse} starts at the end.
   */
  public static Output sum(Scope s, Output x, int axis, boolean exclusive, boolean reverse) {
    return of(s, SUM, x, Const.of(s, axis), exclusive, reverse);
  }

  /** Adds the cumulative products along {@code axis}. */
  public static Output prod(Scope s, Output x, int axis, boolean exclusive, boolean reverse) {
    return of(s, PROD, x, Const.of(s, axis), exclusive, reverse);
  }

  private static Output of(
      Scope s, Op op, Output x, Output axis, boolean exclusive, boolean reverse) {
    return s.node(op)
        .input(x)
        .input(axis)
        .attr("exclusive", exclusive)
        .attr("reverse", reverse)
        .add()
        .output();
  }

  private static Kernel kernel(Node node, boolean product) {
    DType type = node.output(0).dtype();
    Refusal.unless(DType.NUMERIC.contains(type), node, type);
    boolean exclusive = node.booleanAttr("exclusive");
    boolean reverse = node.booleanAttr("reverse");
    return c -> {
      Tensor x = c.input(0);
      Shape s = x.shape();
      Tensor y = c.allocate(0, s);
      int axis = Axis.of(c.input(1), s.rank());
      long outer = s.slice(0, axis).elements();
      long inner = s.slice(axis + 1, s.rank()).elements();
      Scan.run(product, exclusive, reverse, outer, s.dim(axis), inner, x, y);
    };
  }

  private static void ofSum(GradientContext g) {
    boolean exclusive = g.node().booleanAttr("exclusive");
    boolean reverse = g.node().booleanAttr("reverse");
    g.dx(0, of(g.scope(), SUM, g.dy(), g.input(1), exclusive, !reverse));
  }

  /** As TensorFlow has it: wrong only where x holds zeros. */
  private static void ofProd(GradientContext g) {
    Scope s = g.scope();
    boolean exclusive = g.node().booleanAttr("exclusive");
    boolean reverse = g.node().booleanAttr("reverse");
    Output x = g.input(0);
    Output product = of(s, PROD, x, g.input(1), exclusive, reverse);
    Output shares = Arithmetic.mul(s, ComplexParts.conj(s, product), g.dy());
    Output sums = of(s, SUM, shares, g.input(1), exclusive, !reverse);
    g.dx(0, s.add(Arithmetic.DIV_NO_NAN, sums, ComplexParts.conj(s, x)).output());
  }
}
