package dev.millrace.tensor.math.complex;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;

class ComplexTest {
  private static final List<Complex> SAMPLES =
      List.of(
          new Complex(0.5, 0.25),
          new Complex(-0.75, 1.5),
          new Complex(1.25, -0.5),
          new Complex(-0.3, -0.2));

  private static void undoes(UnaryOperator<Complex> inverse, UnaryOperator<Complex> function) {
    for (Complex z : SAMPLES) {
      same(z, function.apply(inverse.apply(z)));
    }
  }

  private static void same(Complex expected, Complex actual) {
    assertEquals(expected.re(), actual.re(), 1e-14);
    assertEquals(expected.im(), actual.im(), 1e-14);
  }

  @Test
  void everyFunctionUndoesItsInverse() {
    undoes(Complex::log, Complex::exp);
    undoes(Complex::log1p, Complex::expm1);
    undoes(Complex::sqrt, Complex::squared);
    undoes(Complex::asin, Complex::sin);
    undoes(Complex::acos, Complex::cos);
    undoes(Complex::atan, Complex::tan);
    undoes(Complex::asinh, Complex::sinh);
    undoes(Complex::acosh, Complex::cosh);
    undoes(Complex::atanh, Complex::tanh);
    undoes(Complex::reciprocal, Complex::reciprocal);
  }

  @Test
  void aQuotientOfLargeNumbersIsFinite() {
    Complex large = new Complex(1e300, 1e300);
    same(Complex.ONE, large.over(large));
    same(new Complex(0, 1), new Complex(-1e300, 1e300).over(large));
  }

  @Test
  void zeroHasNoDirectionAndZeroPowers() {
    assertEquals(Complex.ZERO, Complex.ZERO.sign());
    assertEquals(Complex.ONE, Complex.ZERO.pow(Complex.ZERO));
    assertEquals(Complex.ZERO, Complex.ZERO.pow(Complex.ONE));
  }
}
