package dev.millrace.ops.special;

import static dev.millrace.ops.math.Arithmetic.add;
import static dev.millrace.ops.math.Arithmetic.mul;
import static dev.millrace.ops.math.Arithmetic.sub;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.GradientContext;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.ShapeContext;
import dev.millrace.ops.array.BroadcastGradient;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.math.Unary;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.special.IncompleteBeta;
import java.util.List;

/** The regularized incomplete beta function of three tensors of one shape, or scalars. */
final class Betainc {
  static final Op OP =
      Op.define("Betainc")
          .attr("T: {float, double}")
          .input("a: T")
          .input("b: T")
          .input("x: T")
          .output("z: T")
          .shape(Betainc::infer)
          .kernel(Betainc::compute)
          .gradient(Betainc::gradient)
          .build();

  private Betainc() {}

  private static List<Shape> infer(ShapeContext c) {
    boolean isOpen = false;
    Shape s = Shape.scalar();
    for (int i = 0; i < 3; i++) {
      Shape in = c.input(i);
      isOpen |= !in.hasRank();
      s = in.hasRank() ? merged(s, in) : s;
    }
    return List.of(isOpen && s.isScalar() ? Shape.unknown() : s);
  }

  private static Shape merged(Shape a, Shape b) {
    if (a.isScalar() || b.isScalar()) {
      return a.isScalar() ? b : a;
    }
    if (!a.isCompatibleWith(b)) {
      throw MillraceException.invalid("Shapes of the inputs are inconsistent: %s and %s", a, b);
    }
    return a.mergeWith(b);
  }

  private static void compute(KernelContext c) {
    Tensor a = c.input(0);
    Tensor b = c.input(1);
    Tensor x = c.input(2);
    Shape s = merged(merged(a.shape(), b.shape()), x.shape());
    Tensor z = c.allocate(0, s);
    for (long i = 0; i < s.elements(); i++) {
      z.setDouble(i, IncompleteBeta.of(at(a, i), at(b, i), at(x, i)));
    }
  }

  private static double at(Tensor t, long i) {
    return t.doubleAt(t.shape().isScalar() ? 0 : i);
  }

  /** By x alone: TensorFlow knows no derivative by a and b either. */
  private static void gradient(GradientContext g) {
    Scope s = g.scope();
    Output a = g.input(0);
    Output b = g.input(1);
    Output x = g.input(2);
    Output one = Const.of(s, a.dtype(), 1);
    Output beta = sub(s, add(s, lgamma(s, a), lgamma(s, b)), lgamma(s, add(s, a, b)));
    Output left = s.add(SpecialBinary.XLOG1PY, sub(s, b, one), Unary.neg(s, x)).output();
    Output right = s.add(SpecialBinary.XLOGY, sub(s, a, one), x).output();
    Output density = Unary.exp(s, sub(s, add(s, left, right), beta));
    Output dx = mul(s, density, g.dy());
    // Where x is a scalar beside tensors, its gradient is the sum over all elements.
    g.dx(2, BroadcastGradient.reduce(s, dx, x, dx));
  }

  private static Output lgamma(Scope s, Output x) {
    return s.add(SpecialUnary.LGAMMA, x).output();
  }
}
