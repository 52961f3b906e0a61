package dev.millrace.tensor.math.complex;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class FourierTest {
  private static double[] numbers(int n, int seed) {
    return new Random(seed).doubles(n, -1, 1).toArray();
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 7, 12, 31, 64, 100})
  void everyLengthIsTheSumByDefinition(int n) {
    double[] re = numbers(n, 1);
    double[] im = numbers(n, 2);
    double[] a = re.clone();
    double[] b = im.clone();
    Fourier.of(n).forward(a, b);
    for (int k = 0; k < n; k++) {
      Complex sum = Complex.ZERO;
      for (int j = 0; j < n; j++) {
        double angle = -2 * Math.PI * j * k / n;
        Complex root = new Complex(Math.cos(angle), Math.sin(angle));
        sum = sum.plus(new Complex(re[j], im[j]).times(root));
      }
      assertEquals(sum.re(), a[k], 1e-11);
      assertEquals(sum.im(), b[k], 1e-11);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 5, 6, 9})
  void realNumbersComeBackFromTheFirstHalf(int n) {
    double[] x = numbers(3 * n, 3);
    FourierBlock block = new FourierBlock(3, n);
    for (int i = 0; i < x.length; i++) {
      block.set(i, new Complex(x[i], 0));
    }
    block.forward();
    FourierBlock half = new FourierBlock(3, n);
    for (int i = 0; i < x.length; i++) {
      half.set(i, i % n <= n / 2 ? block.get(i) : Complex.ZERO);
    }
    half.backwardToReal();
    for (int i = 0; i < x.length; i++) {
      assertEquals(x[i], half.get(i).re(), 1e-12);
    }
  }
}
