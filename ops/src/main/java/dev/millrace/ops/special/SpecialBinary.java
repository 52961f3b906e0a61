package dev.millrace.ops.special;

import static dev.millrace.ops.math.Arithmetic.add;
import static dev.millrace.ops.math.Arithmetic.mul;
import static dev.millrace.ops.math.Arithmetic.sub;

import dev.millrace.graph.Gradient;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.ops.array.BroadcastGradient;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.math.Cast;
import dev.millrace.ops.math.Comparisons;
import dev.millrace.ops.math.ComplexParts;
import dev.millrace.ops.math.Unary;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.complex.Complex;
import dev.millrace.tensor.math.complex.ComplexElements;
import dev.millrace.tensor.math.elementwise.BroadcastIndex;
import dev.millrace.tensor.math.special.HurwitzZeta;
import dev.millrace.tensor.math.special.IncompleteGamma;
import java.util.List;
import java.util.function.BinaryOperator;
import java.util.function.DoubleBinaryOperator;

/** Special functions of two elements that broadcast. */
final class SpecialBinary {
  private static final String REAL = "T: {bfloat16, half, float, double}";
  private static final String EXACT = "T: {float, double}";
  private static final String NUMBER = "T: {half, bfloat16, float, double, complex64, complex128}";

  /** The slope by one operand, before broadcasting is undone; null where there is none. */
  private interface Slope {
    Output of(Scope s, Output x, Output y);
  }

  static final Op IGAMMA_GRAD_A =
      define("IgammaGradA", EXACT, "a", "x", IncompleteGamma::lowerByA)
          .gradient(Gradient.undefined("TensorFlow defines none"))
          .build();
  static final Op RANDOM_GAMMA_GRAD =
      Op.define("RandomGammaGrad")
          .attr(EXACT)
          .input("alpha: T")
          .input("sample: T")
          .output("output: T")
          .shape(Shapes.broadcast())
          .kernel(PerElement.binary(IncompleteGamma::sampleByA))
          .gradient(Gradient.undefined("TensorFlow defines none"))
          .build();
  static final Op IGAMMA =
      define("Igamma", REAL, "a", "x", IncompleteGamma::lower)
          .gradient(
              slopes((s, a, x) -> s.add(IGAMMA_GRAD_A, a, x).output(), SpecialBinary::gammaDensity))
          .build();
  static final Op IGAMMAC =
      define("Igammac", REAL, "a", "x", IncompleteGamma::upper)
          .gradient(
              slopes(
                  (s, a, x) -> Unary.neg(s, s.add(IGAMMA_GRAD_A, a, x).output()),
                  (s, a, x) -> Unary.neg(s, gammaDensity(s, a, x))))
          .build();
  static final Op ZETA =
      define("Zeta", EXACT, "x", "q", HurwitzZeta::of)
          .gradient(
              slopes(
                  null,
                  (s, x, q) -> {
                    Output next = add(s, x, Const.of(s, x.dtype(), 1));
                    return mul(
                        s, Unary.neg(s, x), s.node("Zeta").input(next).input(q).add().output());
                  }))
          .build();
  static final Op POLYGAMMA =
      define("Polygamma", EXACT, "a", "x", HurwitzZeta::polygamma)
          .gradient(
              slopes(
                  null,
                  (s, n, x) -> {
                    Output next = add(s, n, Const.of(s, n.dtype(), 1));
                    return s.node("Polygamma").input(next).input(x).add().output();
                  }))
          .build();
  static final Op NEXT_AFTER =
      Op.define("NextAfter")
          .attr("T: {double, float} = float")
          .input("x1: T")
          .input("x2: T")
          .output("output: T")
          .shape(Shapes.broadcast())
          .kernelPerNode(SpecialBinary::nextAfter)
          .gradient(
              g -> {
                Output dx = BroadcastGradient.reduce(g.scope(), g.dy(), g.input(0), g.input(1));
                g.dx(0, dx);
              })
          .build();
  static final Op XDIVY =
      product("Xdivy", (x, y) -> x == 0 ? 0 : x / y, Complex::over)
          .gradient(
              slopes(
                  (s, x, y) -> xdivy(s, isNotZero(s, x), y),
                  (s, x, y) -> xdivy(s, Unary.neg(s, x), Unary.square(s, y))))
          .build();
  static final Op XLOGY =
      product("Xlogy", (x, y) -> x == 0 ? 0 : x * Math.log(y), (x, y) -> x.times(y.log()))
          .gradient(
              slopes(
                  (s, x, y) -> s.node("Xlogy").input(isNotZero(s, x)).input(y).add().output(),
                  (s, x, y) -> xdivy(s, x, y)))
          .build();
  static final Op XLOG1PY =
      product("Xlog1py", (x, y) -> x == 0 ? 0 : x * Math.log1p(y), (x, y) -> x.times(y.log1p()))
          .gradient(
              slopes(
                  (s, x, y) -> s.node("Xlog1py").input(isNotZero(s, x)).input(y).add().output(),
                  (s, x, y) -> xdivy(s, x, add(s, y, Const.of(s, y.dtype(), 1)))))
          .build();

  static final List<Op> ALL =
      List.of(
          IGAMMA_GRAD_A,
          RANDOM_GAMMA_GRAD,
          IGAMMA,
          IGAMMAC,
          ZETA,
          POLYGAMMA,
          NEXT_AFTER,
          XDIVY,
          XLOGY,
          XLOG1PY);

  private SpecialBinary() {}

  private static Op.Builder define(
      String name, String types, String x, String y, DoubleBinaryOperator f) {
    return Op.define(name)
        .attr(types)
        .input(x + ": T")
        .input(y + ": T")
        .output("z: T")
        .shape(Shapes.broadcast())
        .kernel(PerElement.binary(f));
  }

  /** A product that is 0 where x is, whatever the other factor. */
  private static Op.Builder product(
      String name, DoubleBinaryOperator real, BinaryOperator<Complex> complex) {
    BinaryOperator<Complex> guarded = (x, y) -> x.isZero() ? Complex.ZERO : complex.apply(x, y);
    return define(name, NUMBER, "x", "y", real)
        .kernelPerNode(
            node -> node.input(0).dtype().isComplex() ? complex(guarded) : PerElement.binary(real));
  }

  private static Kernel complex(BinaryOperator<Complex> f) {
    return c -> {
      Tensor x = c.input(0);
      Tensor y = c.input(1);
      Shape s = Shape.broadcast(x.shape(), y.shape());
      Tensor z = c.allocate(0, s);
      BroadcastIndex ofX = new BroadcastIndex(x.shape(), s);
      BroadcastIndex ofY = new BroadcastIndex(y.shape(), s);
      for (long i = 0; i < s.elements(); i++) {
        Complex a = ComplexElements.at(x.dtype(), x.data(), ofX.of(i));
        Complex b = ComplexElements.at(y.dtype(), y.data(), ofY.of(i));
        ComplexElements.set(z.dtype(), z.data(), i, f.apply(a, b));
      }
    };
  }

  private static Kernel nextAfter(Node node) {
    return switch (node.output(0).dtype()) {
      case FLOAT -> PerElement.binary((x, y) -> Math.nextAfter((float) x, y));
      default -> PerElement.binary(Math::nextAfter);
    };
  }

  private static Gradient slopes(Slope byX, Slope byY) {
    return g -> {
      Scope s = g.scope();
      Output x = g.input(0);
      Output y = g.input(1);
      Output cx = ComplexParts.conj(s, x);
      Output cy = ComplexParts.conj(s, y);
      if (byX != null) {
        g.dx(0, BroadcastGradient.reduce(s, mul(s, byX.of(s, cx, cy), g.dy()), x, y));
      }
      if (byY != null) {
        g.dx(1, BroadcastGradient.reduce(s, mul(s, byY.of(s, cx, cy), g.dy()), y, x));
      }
    };
  }

  /** The density of the gamma distribution: e^((a - 1) log x - x - lgamma a). */
  private static Output gammaDensity(Scope s, Output a, Output x) {
    Output power = mul(s, sub(s, a, Const.of(s, a.dtype(), 1)), Unary.log(s, x));
    Output log = sub(s, sub(s, power, x), s.add(SpecialUnary.LGAMMA, a).output());
    return Unary.exp(s, log);
  }

  private static Output xdivy(Scope s, Output x, Output y) {
    return s.node("Xdivy").input(x).input(y).add().output();
  }

  /** 1 where {@code x} is not 0. */
  private static Output isNotZero(Scope s, Output x) {
    Output differs = s.add(Comparisons.NOT_EQUAL, x, Const.of(s, x.dtype(), 0)).output();
    return Cast.of(s, differs, x.dtype());
  }
}
