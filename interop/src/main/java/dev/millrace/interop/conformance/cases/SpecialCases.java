package dev.millrace.interop.conformance.cases;

import dev.millrace.base.Code;
import dev.millrace.interop.conformance.CaseTable;
import dev.millrace.interop.conformance.Kernels;
import dev.millrace.interop.conformance.OpCase;
import dev.millrace.interop.conformance.Values.Domain;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;

/** Special functions, and the bits of whole numbers. */
public final class SpecialCases extends CaseTable {
  /** TensorFlow computes these in the precision of the type, this engine always in double. */
  private static final double SLACK = 40;

  private static final List<String> BESSEL =
      List.of(
          "BesselI0",
          "BesselI0e",
          "BesselI1",
          "BesselI1e",
          "BesselK0",
          "BesselK0e",
          "BesselK1",
          "BesselK1e",
          "BesselJ0",
          "BesselJ1",
          "BesselY0",
          "BesselY1");

  public SpecialCases() {
    unary("Lgamma", Domain.POSITIVE);
    unary("Digamma", Domain.POSITIVE);
    unary("Erfinv", Domain.FRACTION);
    BESSEL.forEach(op -> unary(op, Domain.POSITIVE));
    for (DType dtype : Kernels.types("Ndtri", "T")) {
      op("Ndtri", fractions(dtype)).slack(SLACK);
      op("Ndtri", any(dtype, 0));
    }
    for (String op : List.of("Lgamma", "Digamma", "BesselJ0", "BesselI1", "BesselI0e")) {
      op(op, Tensor.vector(-3.5, -0.25, 0.75, 12.5, 30, 60)).slack(SLACK);
    }
    binary("Igamma", Domain.POSITIVE, Domain.POSITIVE);
    binary("Igammac", Domain.POSITIVE, Domain.POSITIVE);
    binary("IgammaGradA", Domain.POSITIVE, Domain.POSITIVE);
    binary("RandomGammaGrad", Domain.POSITIVE, Domain.POSITIVE);
    for (String op : List.of("Igamma", "Igammac", "IgammaGradA")) {
      smooth(op, Tensor.vector(0.5, 20, 80, 500), Tensor.vector(9, 12, 100.0, 490));
    }
    for (DType dtype : List.of(DType.FLOAT, DType.DOUBLE)) {
      Tensor order = Tensor.allocate(dtype, Shape.of(3, 1));
      for (int i = 0; i < 3; i++) {
        order.setDouble(i, i);
      }
      op("Polygamma", order, random(Domain.POSITIVE, dtype, 3, 4)).noGradientBy(0).slack(SLACK);
      op("Polygamma", scalar(dtype, 1), any(dtype, 0)).noGradientBy(0);
      Tensor above = Tensor.allocate(dtype, Shape.of(4));
      for (int i = 0; i < 4; i++) {
        above.setDouble(i, 1.5 + i);
      }
      op("Zeta", above, random(Domain.POSITIVE, dtype, 3, 4)).noGradientBy(0).slack(SLACK);
      op("Zeta", any(dtype, 0), above.copy().reshaped(Shape.of(4, 1))).noGradientBy(0);
      Tensor x = fractions(dtype);
      Tensor a = random(Domain.POSITIVE, dtype, 9);
      op("Betainc", a, random(Domain.POSITIVE, dtype, 9), x).noGradientBy(0, 1).slack(SLACK);
      op("Betainc", a, scalar(dtype, 2), scalar(dtype, 0.25)).noGradientBy(0, 1).slack(SLACK);
      op("Betainc", scalar(dtype, 3), scalar(dtype, 2), x).noGradientBy(0, 1).slack(SLACK);
      op("Betainc", a, any(dtype, 3), x).fails(Code.INVALID_ARGUMENT);
      op("NextAfter", any(dtype, 3, 4), any(dtype, 4)).noGradientBy(0, 1);
      op("NextAfter", any(dtype, 0), any(dtype, 1)).noGradientBy(0, 1);
    }
    for (String op : List.of("Xdivy", "Xlogy", "Xlog1py")) {
      for (DType dtype : Kernels.types(op, "T")) {
        op(op, random(Domain.NONZERO, dtype, 3, 4), random(Domain.POSITIVE, dtype, 4));
        op(op, any(dtype, 0), any(dtype, 1));
      }
      op(op, Tensor.vector(0.0, 0, 2), Tensor.vector(0.0, 3, 3)).noGradient();
      op(op, floats(2), floats(3)).fails(Code.INVALID_ARGUMENT);
    }
    bits();
  }

  private void unary(String op, Domain domain) {
    for (DType dtype : Kernels.types(op, "T")) {
      op(op, random(domain, dtype, 3, 7)).slack(SLACK);
      op(op, random(domain, dtype)).slack(SLACK);
      op(op, random(domain, dtype, 0));
    }
  }

  private void binary(String op, Domain first, Domain second) {
    for (DType dtype : Kernels.types(op, "T")) {
      smooth(op, random(first, dtype, 3, 7), random(second, dtype, 3, 7));
      smooth(op, random(first, dtype, 3, 1), random(second, dtype, 7));
      smooth(op, random(first, dtype), random(second, dtype, 2, 0));
    }
    op(op, floats(2), floats(3)).fails(Code.INVALID_ARGUMENT);
  }

  /** Two of them are gradients themselves, of which TensorFlow has no further ones. */
  private void smooth(String op, Tensor first, Tensor second) {
    OpCase c = op(op, first, second).slack(SLACK);
    if (op.contains("Grad")) {
      c.noGradient();
    }
  }

  private Tensor random(Domain domain, DType dtype, long... dims) {
    return values.of(domain, dtype, Shape.of(dims));
  }

  /** Between 0 and 1. */
  private static Tensor fractions(DType dtype) {
    Tensor t = Tensor.allocate(dtype, Shape.of(9));
    for (int i = 0; i < 9; i++) {
      t.setDouble(i, (i + 1) / 16.0 + i / 32.0);
    }
    return t;
  }

  private void bits() {
    for (String op : List.of("BitwiseAnd", "BitwiseOr", "BitwiseXor", "LeftShift", "RightShift")) {
      boolean isShift = op.endsWith("Shift");
      for (DType dtype : Kernels.types(op, "T")) {
        Tensor by = isShift ? values.between(dtype, 0, 8, 4) : any(dtype, 4);
        op(op, any(dtype, 3, 4), by);
        op(op, any(dtype), by);
        op(op, any(dtype, 0), any(dtype, 1));
      }
      op(op, ints(1, 2), ints(1, 2, 3)).fails(Code.INVALID_ARGUMENT);
    }
    op("LeftShift", ints(-5, 7), ints(-2, 40));
    op("RightShift", ints(-5, 7), ints(-2, 40));
    for (String op : List.of("Invert", "PopulationCount")) {
      for (DType dtype : Kernels.types(op, "T")) {
        op(op, any(dtype, 3, 4));
        op(op, any(dtype, 0));
      }
    }
    for (DType dtype : List.of(DType.INT32, DType.FLOAT, DType.UINT32)) {
      op("Bitcast", any(DType.FLOAT, 3, 4)).with("type", dtype);
      op("Bitcast", any(DType.UINT8, 3, 4)).with("type", dtype);
    }
    op("Bitcast", doubles(2, 2)).with("type", DType.UINT16);
    op("Bitcast", any(DType.INT32)).with("type", DType.INT8);
    op("Bitcast", doubles(0, 2)).with("type", DType.COMPLEX128);
    op("Bitcast", any(DType.INT16, 3, 3)).with("type", DType.INT32).fails(Code.INVALID_ARGUMENT);
    op("Bitcast", any(DType.INT16)).with("type", DType.INT32).fails(Code.INVALID_ARGUMENT);
  }
}
