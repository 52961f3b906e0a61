package dev.millrace.ops.math;

import static dev.millrace.ops.math.Arithmetic.mul;

import dev.millrace.graph.GradientContext;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.ops.array.BroadcastGradient;
import dev.millrace.ops.array.Const;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.complex.Complex;
import dev.millrace.tensor.math.complex.ComplexElements;
import dev.millrace.tensor.math.elementwise.BroadcastIndex;
import dev.millrace.tensor.math.elementwise.Elementwise;
import dev.millrace.tensor.math.elementwise.UnaryOp;
import java.util.List;
import java.util.function.ToDoubleFunction;

/** Complex numbers from their parts, and what they are made of. */
public final class ComplexParts {
  public static final Op COMPLEX =
      Op.define("Complex")
          .attr("T: {float, double} = float")
          .attr("Tout: {complex64, complex128} = complex64")
          .input("real: T")
          .input("imag: T")
          .output("out: Tout")
          .shape(Shapes.broadcast())
          .kernelPerNode(ComplexParts::joining)
          .gradient(ComplexParts::ofComplex)
          .build();

  public static final Op REAL =
      part("Real", Complex::re).gradient(g -> g.dx(0, complex(g, g.dy(), zero(g)))).build();
  public static final Op IMAG =
      part("Imag", Complex::im).gradient(g -> g.dx(0, complex(g, zero(g), g.dy()))).build();
  public static final Op ABS =
      part("ComplexAbs", Complex::abs).gradient(ComplexParts::ofAbs).build();
  public static final Op ANGLE =
      part("Angle", Complex::angle).gradient(ComplexParts::ofAngle).build();

  /** The other sign of the imaginary part. A variant is handed on as it is. */
  public static final Op CONJ =
      Op.define("Conj")
          .attr("T: {complex64, complex128, variant} = complex64")
          .input("input: T")
          .output("output: T")
          .shape(Shapes.like(0))
          .kernelPerNode(
              node ->
                  node.input(0).dtype() == DType.VARIANT
                      ? c -> c.output(0, Refs.retain(c.input(0)))
                      : ComplexParts::conjugate)
          .gradient(g -> g.dx(0, conj(g.scope(), g.dy())))
          .build();

  static final List<Op> ALL = List.of(COMPLEX, REAL, IMAG, ABS, ANGLE, CONJ);

  private ComplexParts() {}

  /** The conjugate of {@code x}; {@code x} itself if it is real. */
  public static Output conj(Scope scope, Output x) {
    return x.dtype().isComplex() ? scope.add(CONJ, x).output() : x;
  }

  /** The complex numbers of these parts, which broadcast. */
  public static Output complex(Scope scope, Output real, Output imag) {
    DType type = real.dtype() == DType.DOUBLE ? DType.COMPLEX128 : DType.COMPLEX64;
    return scope.node(COMPLEX).input(real).input(imag).attr("Tout", type).add().output();
  }

  /** The real part of {@code x}, which is complex. */
  public static Output real(Scope scope, Output x) {
    return part(scope, REAL, x);
  }

  /** The imaginary part of {@code x}, which is complex. */
  public static Output imag(Scope scope, Output x) {
    return part(scope, IMAG, x);
  }

  private static Output part(Scope scope, Op op, Output x) {
    return scope.node(op).input(x).attr("Tout", x.dtype().realPart()).add().output();
  }

  private static Op.Builder part(String name, ToDoubleFunction<Complex> f) {
    return Op.define(name)
        .attr("T: {complex64, complex128} = complex64")
        .attr("Tout: {float, double} = float")
        .input(name.equals("ComplexAbs") ? "x: T" : "input: T")
        .output(name.equals("ComplexAbs") ? "y: Tout" : "output: Tout")
        .shape(Shapes.like(0))
        .kernelPerNode(node -> parting(node, f));
  }

  private static Kernel parting(Node node, ToDoubleFunction<Complex> f) {
    DType type = node.input(0).dtype();
    Refusal.unless(node.output(0).dtype() == type.realPart(), node, type);
    return c -> {
      Tensor x = c.input(0);
      Tensor y = c.allocate(0, x.shape());
      for (long i = 0; i < x.elements(); i++) {
        y.setDouble(i, f.applyAsDouble(ComplexElements.at(type, x.data(), i)));
      }
    };
  }

  private static Kernel joining(Node node) {
    DType type = node.output(0).dtype();
    Refusal.unless(node.input(0).dtype() == type.realPart(), node, type);
    return c -> {
      Tensor re = c.input(0);
      Tensor im = c.input(1);
      Shape s = Shape.broadcast(re.shape(), im.shape());
      BroadcastIndex left = new BroadcastIndex(re.shape(), s);
      BroadcastIndex right = new BroadcastIndex(im.shape(), s);
      Tensor y = c.allocate(0, s);
      for (long i = 0; i < y.elements(); i++) {
        Complex v = new Complex(re.doubleAt(left.of(i)), im.doubleAt(right.of(i)));
        ComplexElements.set(type, y.data(), i, v);
      }
    };
  }

  private static void conjugate(KernelContext c) {
    Tensor x = c.input(0);
    Elementwise.unary(UnaryOp.CONJ, x, c.allocateOrReuse(0, 0, x.shape()));
  }

  private static Output zero(GradientContext g) {
    return Const.of(g.scope(), g.dy().dtype(), 0);
  }

  private static Output complex(GradientContext g, Output real, Output imag) {
    return complex(g.scope(), real, imag);
  }

  private static void ofComplex(GradientContext g) {
    Scope s = g.scope();
    Output re = g.input(0);
    Output im = g.input(1);
    g.dx(0, BroadcastGradient.reduce(s, real(s, g.dy()), re, im));
    g.dx(1, BroadcastGradient.reduce(s, imag(s, g.dy()), im, re));
  }

  /** The direction from 0, and nothing at 0. */
  private static void ofAbs(GradientContext g) {
    Scope s = g.scope();
    Output size = complex(g, g.output(0), zero(g));
    Output direction = s.add(Arithmetic.DIV_NO_NAN, g.input(0), size).output();
    g.dx(0, mul(s, complex(g, g.dy(), zero(g)), direction));
  }

  private static void ofAngle(GradientContext g) {
    Scope s = g.scope();
    Output x = real(s, g.input(0));
    Output y = imag(s, g.input(0));
    Output turned = complex(g, y, x);
    Output slope = Unary.neg(s, Unary.reciprocal(s, turned));
    g.dx(0, mul(s, complex(g, g.dy(), zero(g)), slope));
  }
}
