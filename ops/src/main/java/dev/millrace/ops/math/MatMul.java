package dev.millrace.ops.math;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.GradientContext;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.ShapeContext;
import dev.millrace.ops.array.LastShape;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.gemm.Gemm;
import java.util.List;

/** The product of two matrices, either of which may be taken transposed. */
public final class MatMul {
  public static final Op OP =
      Op.define("MatMul")
          .attr("transpose_a: bool = false")
          .attr("transpose_b: bool = false")
          .attr(
              "T: {bfloat16, half, float, double, int32, int64, uint8, uint16, uint32, uint64,"
                  + " complex64, complex128}")
          .attr("grad_a: bool = false")
          .attr("grad_b: bool = false")
          .input("a: T")
          .input("b: T")
          .output("product: T")
          .shape(MatMul::infer)
          .kernelPerNode(MatMul::kernel)
          .gradient(MatMul::gradient)
          .build();

  private MatMul() {}

  /** The product of two matrices. */
  public static Output of(Scope scope, Output a, Output b) {
    return of(scope, a, b, false, false);
  }

  /** Adds the matrix product, with either operand optionally transposed. */
  public static Output of(Scope scope, Output a, Output b, boolean transposeA, boolean transposeB) {
    return scope
        .node(OP)
        .input(a)
        .input(b)
        .attr("transpose_a", transposeA)
        .attr("transpose_b", transposeB)
        .add()
        .output();
  }

  private static List<Shape> infer(ShapeContext c) {
    return List.of(
        product(
            c.inputOfRank(0, 2),
            c.inputOfRank(1, 2),
            c.node().booleanAttr("transpose_a"),
            c.node().booleanAttr("transpose_b")));
  }

  /** The shape of the product of matrices of these shapes, where there is one. */
  public static Shape product(Shape a, Shape b, boolean ta, boolean tb) {
    if (a.rank() != 2 || b.rank() != 2) {
      throw MillraceException.invalid("both inputs must be matrices: a is %s, b is %s.", a, b);
    }
    long inner = a.dim(ta ? 0 : 1);
    long other = b.dim(tb ? 1 : 0);
    if (inner >= 0 && other >= 0 && inner != other) {
      throw MillraceException.invalid(
          "inner dimensions differ: a is %s, b is %s. Need a[%d] == b[%d]%s",
          a, b, ta ? 0 : 1, tb ? 1 : 0, advice(a, b, ta, tb));
    }
    return Shape.of(a.dim(ta ? 1 : 0), b.dim(tb ? 0 : 1));
  }

  private static String advice(Shape a, Shape b, boolean ta, boolean tb) {
    if (a.dim(ta ? 0 : 1) == b.dim(tb ? 0 : 1)) {
      return "; they agree with transpose_b=" + !tb + ".";
    }
    return a.dim(ta ? 1 : 0) == b.dim(tb ? 1 : 0)
        ? "; they agree with transpose_a=" + !ta + "."
        : ".";
  }

  /** Whether matrices of this type can be multiplied. */
  static boolean supports(DType type) {
    return type.isFloating()
        || type.isComplex()
        || type == DType.INT16
        || type == DType.INT32
        || type == DType.INT64;
  }

  private static Kernel kernel(Node node) {
    DType type = node.output(0).dtype();
    Refusal.unless(supports(type), node, type);
    boolean ta = node.booleanAttr("transpose_a");
    boolean tb = node.booleanAttr("transpose_b");
    LastShape product = new LastShape((a, b) -> product(a, b, ta, tb));
    return c -> {
      Tensor a = c.input(0);
      Tensor b = c.input(1);
      Shape s = product.of(a.shape(), b.shape());
      int k = Math.toIntExact(a.shape().dim(ta ? 0 : 1));
      Tensor y = c.allocate(0, s);
      Gemm.run(
          type,
          ta,
          tb,
          Math.toIntExact(s.dim(0)),
          Math.toIntExact(s.dim(1)),
          k,
          a.data(),
          b.data(),
          y.data(),
          false);
    };
  }

  private static void gradient(GradientContext g) {
    Scope s = g.scope();
    Output a = ComplexParts.conj(s, g.input(0));
    Output b = ComplexParts.conj(s, g.input(1));
    Output dy = g.dy();
    boolean ta = g.node().booleanAttr("transpose_a");
    boolean tb = g.node().booleanAttr("transpose_b");
    g.dx(0, ta ? of(s, b, dy, tb, true) : of(s, dy, b, false, !tb));
    g.dx(1, tb ? of(s, dy, a, true, ta) : of(s, a, dy, !ta, false));
  }
}
