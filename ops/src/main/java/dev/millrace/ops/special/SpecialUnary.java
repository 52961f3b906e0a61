package dev.millrace.ops.special;

import static dev.millrace.ops.math.Arithmetic.add;
import static dev.millrace.ops.math.Arithmetic.mul;
import static dev.millrace.ops.math.Arithmetic.realDiv;
import static dev.millrace.ops.math.Arithmetic.scaled;
import static dev.millrace.ops.math.Arithmetic.sub;

import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Select;
import dev.millrace.ops.math.Comparisons;
import dev.millrace.ops.math.Unary;
import dev.millrace.tensor.math.special.Bessel;
import dev.millrace.tensor.math.special.GammaFunction;
import dev.millrace.tensor.math.special.NormalQuantile;
import java.util.List;
import java.util.function.DoubleUnaryOperator;

/** Special functions of one element. */
final class SpecialUnary {
  /** The derivative at x, where the function has the value y. */
  private interface Derivative {
    Output of(Scope s, Output x, Output y);
  }

  static final Op LGAMMA =
      op("Lgamma", GammaFunction::logGamma, (s, x, y) -> node(s, "Digamma", x));
  static final Op DIGAMMA =
      op(
          "Digamma",
          GammaFunction::digamma,
          (s, x, y) -> s.add(SpecialBinary.POLYGAMMA, Const.of(s, x.dtype(), 1), x).output());
  static final Op ERFINV =
      op(
          "Erfinv",
          NormalQuantile::inverseErf,
          (s, x, y) -> scaled(s, Unary.exp(s, Unary.square(s, y)), Math.sqrt(Math.PI) / 2));
  static final Op NDTRI =
      op(
          "Ndtri",
          NormalQuantile::of,
          (s, x, y) ->
              scaled(s, Unary.exp(s, scaled(s, Unary.square(s, y), 0.5)), Math.sqrt(2 * Math.PI)));
  static final Op I0 = op("BesselI0", x -> Bessel.i(0, x), (s, x, y) -> node(s, "BesselI1", x));
  static final Op I0E =
      op(
          "BesselI0e",
          x -> Bessel.scaledI(0, x),
          (s, x, y) -> sub(s, node(s, "BesselI1e", x), mul(s, sign(s, x), y)));
  static final Op I1 =
      op("BesselI1", x -> Bessel.i(1, x), (s, x, y) -> slopeOfI1(s, "BesselI0", x, y));
  static final Op I1E =
      op(
          "BesselI1e",
          x -> Bessel.scaledI(1, x),
          (s, x, y) -> sub(s, slopeOfI1(s, "BesselI0e", x, y), mul(s, sign(s, x), y)));
  static final Op K0 =
      op("BesselK0", x -> Bessel.k(0, x), (s, x, y) -> Unary.neg(s, node(s, "BesselK1", x)));
  static final Op K0E =
      op("BesselK0e", x -> Bessel.scaledK(0, x), (s, x, y) -> sub(s, y, node(s, "BesselK1e", x)));
  static final Op K1 =
      op(
          "BesselK1",
          x -> Bessel.k(1, x),
          (s, x, y) -> Unary.neg(s, add(s, node(s, "BesselK0", x), realDiv(s, y, x))));
  static final Op K1E =
      op(
          "BesselK1e",
          x -> Bessel.scaledK(1, x),
          (s, x, y) -> sub(s, sub(s, y, realDiv(s, y, x)), node(s, "BesselK0e", x)));
  static final Op J0 =
      op("BesselJ0", x -> Bessel.j(0, x), (s, x, y) -> Unary.neg(s, node(s, "BesselJ1", x)));
  static final Op J1 =
      op("BesselJ1", x -> Bessel.j(1, x), (s, x, y) -> slopeOfI1(s, "BesselJ0", x, y));
  static final Op Y0 =
      op("BesselY0", x -> Bessel.y(0, x), (s, x, y) -> Unary.neg(s, node(s, "BesselY1", x)));
  static final Op Y1 =
      op(
          "BesselY1",
          x -> Bessel.y(1, x),
          (s, x, y) -> sub(s, node(s, "BesselY0", x), realDiv(s, y, x)));

  static final List<Op> ALL =
      List.of(LGAMMA, DIGAMMA, ERFINV, NDTRI, I0, I0E, I1, I1E, K0, K0E, K1, K1E, J0, J1, Y0, Y1);

  private SpecialUnary() {}

  private static Op op(String name, DoubleUnaryOperator f, Derivative d) {
    return Op.define(name)
        .attr("T: {bfloat16, half, float, double}")
        .input("x: T")
        .output("y: T")
        .shape(Shapes.like(0))
        .kernel(PerElement.unary(f))
        .gradient(g -> g.dx(0, mul(g.scope(), g.dy(), d.of(g.scope(), g.input(0), g.output(0)))))
        .build();
  }

  private static Output node(Scope s, String op, Output x) {
    return s.node(op).input(x).add().output();
  }

  private static Output sign(Scope s, Output x) {
    return Unary.of(s, Unary.SIGN, x);
  }

  /** {@code f0(x) - y / x}, and its limit of one half at 0. */
  private static Output slopeOfI1(Scope s, String f0, Output x, Output y) {
    Output isZero = s.add(Comparisons.EQUAL, x, Const.of(s, x.dtype(), 0)).output();
    Output safe = Select.of(s, isZero, Const.of(s, x.dtype(), 1), x);
    Output slope = sub(s, node(s, f0, x), realDiv(s, y, safe));
    return Select.of(s, isZero, Const.of(s, x.dtype(), 0.5), slope);
  }
}
