package dev.millrace.interop.conformance.cases;

import dev.millrace.base.Code;
import dev.millrace.interop.conformance.CaseTable;
import dev.millrace.interop.conformance.Kernels;
import dev.millrace.interop.conformance.OpCase;
import dev.millrace.interop.conformance.Values;
import dev.millrace.interop.conformance.Values.Domain;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** Ops that work element by element, with and without broadcasting. */
public final class ElementwiseCases extends CaseTable {
  private static final Set<String> STEPPED =
      Set.of(
          "Floor",
          "Ceil",
          "Round",
          "Rint",
          "FloorDiv",
          "FloorMod",
          "TruncateDiv",
          "TruncateMod",
          "Mod");

  public ElementwiseCases() {
    for (String op : List.of("Neg", "Square", "Exp", "Tanh", "Sigmoid", "Softplus", "Elu")) {
      unary(op, Domain.ANY);
    }
    // Not differentiable at 0, or only piecewise.
    for (String op : List.of("Abs", "Sign", "Relu", "Relu6", "Reciprocal")) {
      unary(op, Domain.NONZERO);
    }
    for (String op :
        List.of("Tan", "Sinh", "Cosh", "Atan", "Asinh", "Erfc", "Softsign", "Inv", "Selu")) {
      unary(op, Domain.NONZERO);
    }
    unary("LeakyRelu", Domain.NONZERO);
    op("LeakyRelu", values.of(Domain.NONZERO, DType.DOUBLE, Shape.of(9))).with("alpha", 0.5f);
    for (String op : List.of("Asin", "Acos", "Atanh")) {
      unary(op, Domain.FRACTION);
    }
    above("Acosh");
    for (String op : List.of("Sqrt", "Rsqrt", "Log", "Log1p")) {
      unary(op, Domain.POSITIVE);
    }
    for (String op : List.of("Floor", "Ceil", "Round", "Rint", "Erf", "Sin", "Cos", "Expm1")) {
      unary(op, Domain.NONZERO);
    }
    for (String op : List.of("IsNan", "IsInf", "IsFinite")) {
      unary(op, Domain.ANY);
    }
    op("LogicalNot", any(DType.BOOL, 3, 4));
    op("LogicalNot", any(DType.BOOL, 0));

    for (String op : List.of("Add", "AddV2", "Sub", "Mul", "SquaredDifference")) {
      binary(op, Domain.ANY, Domain.ANY);
    }
    for (String op :
        List.of(
            "Div",
            "RealDiv",
            "FloorDiv",
            "FloorMod",
            "DivNoNan",
            "TruncateDiv",
            "TruncateMod",
            "Mod")) {
      binary(op, Domain.ANY, Domain.NONZERO);
    }
    binary("MulNoNan", Domain.ANY, Domain.NONZERO);
    binary("Atan2", Domain.NONZERO, Domain.NONZERO);
    for (String op : List.of("Maximum", "Minimum")) {
      binary(op, Domain.DISTINCT, Domain.EIGHTHS);
    }
    for (String op : List.of("Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual")) {
      binary(op, Domain.ANY, Domain.ANY);
    }
    for (String op : List.of("LogicalAnd", "LogicalOr")) {
      for (List<Shape> pair : PAIRS) {
        op(
            op,
            random(Domain.ANY, DType.BOOL, pair.get(0)),
            random(Domain.ANY, DType.BOOL, pair.get(1)));
      }
    }
    power();
    gradients();
    zeroDivisors();
    incompatible();
    complex();
  }

  /** The types of real numbers that TensorFlow computes an op in. */
  private static List<DType> real(String op) {
    return Kernels.types(op, "T").stream().filter(t -> !t.isComplex()).toList();
  }

  /** The ops so far in complex types. */
  private void complex() {
    Map<String, Integer> inputs = new TreeMap<>();
    cases().forEach(c -> inputs.put(c.op(), c.inputs().size()));
    inputs.remove("LogicalNot");
    inputs.remove("LogicalAnd");
    inputs.remove("LogicalOr");
    inputs.forEach(
        (op, n) -> {
          for (DType dtype : Kernels.types(op, "T")) {
            if (dtype.isComplex() && n == 1) {
              op(op, random(Domain.ANY, dtype, Shape.of(5, 7)));
              op(op, random(Domain.ANY, dtype, Shape.of(0)));
            } else if (dtype.isComplex()) {
              Shape second = op.endsWith("Grad") ? Shape.of(5, 7) : Shape.of(5, 1);
              op(
                  op,
                  random(Domain.ANY, dtype, Shape.of(5, 7)),
                  random(Domain.NONZERO, dtype, second));
            }
          }
        });
  }

  /** Of numbers above 1. */
  private void above(String op) {
    for (DType dtype : real(op)) {
      Tensor x = Tensor.allocate(dtype, Shape.of(9));
      for (int i = 0; i < 9; i++) {
        x.setDouble(i, 1.5 + i * i);
      }
      op(op, x);
      op(op, random(Domain.SPECIAL, dtype, Shape.of(101))).noGradient();
    }
  }

  private void unary(String op, Domain domain) {
    for (Shape shape : SHAPES) {
      smooth(op, random(domain, DType.FLOAT, shape));
    }
    for (DType dtype : real(op)) {
      // TensorFlow 2.18 rounds every whole number to zero.
      if (op.equals("Round") && !dtype.isFloating()) {
        continue;
      }
      smooth(op, random(domain, dtype, Shape.of(5, 7)));
      if (dtype.isFloating()) {
        op(op, random(Domain.SPECIAL, dtype, Shape.of(101))).noGradient();
      }
    }
  }

  private void binary(String op, Domain left, Domain right) {
    for (List<Shape> pair : PAIRS) {
      smooth(op, random(left, DType.FLOAT, pair.get(0)), random(right, DType.FLOAT, pair.get(1)));
    }
    for (DType dtype : real(op)) {
      smooth(op, random(left, dtype, Shape.of(5, 7)), random(right, dtype, Shape.of(5, 7)));
      smooth(op, random(left, dtype, Shape.of(5, 7)), random(right, dtype, Shape.of(7)));
      smooth(op, random(left, dtype, Shape.of(5, 1)), random(right, dtype, Shape.of(7)));
      if (dtype.isFloating()) {
        Tensor x = random(Domain.SPECIAL, dtype, Shape.of(150));
        op(op, x, random(Domain.SPECIAL, dtype, Shape.of(150))).noGradient();
      }
    }
  }

  /** Declares a case whose gradient is compared unless the inputs may lie on a step of the op. */
  private void smooth(String op, Tensor... inputs) {
    OpCase c = op(op, inputs);
    if (STEPPED.contains(op)) {
      c.noGradient();
    }
  }

  private void power() {
    for (DType dtype : List.of(DType.FLOAT, DType.DOUBLE, DType.HALF)) {
      Tensor base = random(Domain.POSITIVE, dtype, Shape.of(4, 5));
      op("Pow", base, random(Domain.FRACTION, dtype, Shape.of(5)));
      op("Pow", base, scalar(dtype, 2));
      Tensor special = random(Domain.SPECIAL, dtype, Shape.of(100));
      op("Pow", special, random(Domain.SPECIAL, dtype, Shape.of(100))).noGradient();
    }
    for (DType dtype : List.of(DType.INT32, DType.INT64)) {
      op("Pow", random(Domain.ANY, dtype, Shape.of(6)), values.between(dtype, 0, 6, 6));
      op("Pow", any(dtype, 2), values.between(dtype, -3, -1, 2)).fails(Code.INVALID_ARGUMENT);
    }
  }

  /** The ops gradients are made of: a value computed before, and the gradient that comes back. */
  private void gradients() {
    for (String op :
        List.of("TanhGrad", "SigmoidGrad", "SqrtGrad", "RsqrtGrad", "ReciprocalGrad", "InvGrad")) {
      for (DType dtype : real(op)) {
        op(op, random(Domain.POSITIVE, dtype, Shape.of(3, 7)), any(dtype, 3, 7));
      }
      op(op, floats(0), floats(0));
    }
    for (String op :
        List.of(
            "ReluGrad",
            "Relu6Grad",
            "EluGrad",
            "SoftplusGrad",
            "SeluGrad",
            "SoftsignGrad",
            "LeakyReluGrad")) {
      for (DType dtype : real(op)) {
        smooth(op, any(dtype, 3, 7), random(Domain.NONZERO, dtype, Shape.of(3, 7)));
      }
      smooth(op, floats(0), floats(0));
      smooth(op, floats(), random(Domain.NONZERO, DType.FLOAT, Shape.scalar()));
    }
  }

  private void zeroDivisors() {
    for (DType dtype : List.of(DType.INT32, DType.INT64)) {
      for (String op : List.of("Div", "FloorDiv", "FloorMod", "Mod")) {
        op(op, any(dtype, 3), Values.filled(dtype, 0, 3)).fails(Code.INVALID_ARGUMENT);
      }
    }
    op("DivNoNan", floats(3), Values.filled(DType.FLOAT, 0, 3)).noGradient();
    Tensor between = Tensor.vector(0.7, -1.3, 2.9);
    op("Floor", between);
    op("FloorMod", between, Tensor.vector(0.5, 0.8, -1.1));
    // The one quotient of whole numbers that does not fit.
    op("FloorDiv", ints(Integer.MIN_VALUE, 7), ints(2, -2));
    op("FloorMod", ints(-7, 7, -7, 7), ints(3, -3, -3, 3));
    op("FloorMod", Tensor.vector(-7f, 7f, -7f, 0.5f), Tensor.vector(3f, -3f, -3f, 2f)).noGradient();
    op("FloorDiv", Tensor.vector(-7f, 7f, -7f, 0.5f), Tensor.vector(3f, -3f, -3f, 2f)).noGradient();
  }

  private void incompatible() {
    for (String op : List.of("AddV2", "Mul", "Maximum", "Less", "Equal")) {
      op(op, floats(3), floats(4)).fails(Code.INVALID_ARGUMENT);
      op(op, floats(2, 3), floats(3, 2)).fails(Code.INVALID_ARGUMENT);
    }
    op("Equal", floats(3), floats(4)).with("incompatible_shape_error", false);
    op("NotEqual", floats(3), floats(4)).with("incompatible_shape_error", false);
    op("ReluGrad", floats(3), floats(4)).fails(Code.INVALID_ARGUMENT);
  }

  private Tensor random(Domain domain, DType dtype, Shape shape) {
    return values.of(domain, dtype, shape);
  }
}
