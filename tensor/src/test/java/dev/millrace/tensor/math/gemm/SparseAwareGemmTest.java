package dev.millrace.tensor.math.gemm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.Matrices;
import dev.millrace.tensor.math.ReferenceGemm;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@EnabledIf("dev.millrace.tensor.VectorModule#isPresent")
class SparseAwareGemmTest {
  private static final boolean[] BOTH = {false, true};

  @ParameterizedTest
  @ValueSource(doubles = {0, 0.5, 0.9, 1})
  void productsEqualTheReference(double zeros) {
    Random random = new Random(1);
    for (boolean transA : BOTH) {
      for (boolean transB : BOTH) {
        // Around the edges of blocks and vectors, and more than is listed at a time.
        check(random, zeros, transA, transB, 40, 128, 100);
        check(random, zeros, transA, transB, 3, 131, 65);
        check(random, zeros, transA, transB, 35, 259, 64);
        check(random, zeros, transA, transB, 2, 130, 1100);
        check(random, zeros, transA, transB, 1027, 129, 7);
      }
    }
  }

  private static void check(
      Random random, double zeros, boolean transA, boolean transB, int m, int n, int k) {
    Gemm g = Gemm.of(DType.FLOAT, transA, transB, m, n, k);
    Tensor a = sparse(random, zeros, m * k);
    Tensor b = Matrices.random(DType.FLOAT, random, k, n);
    Tensor before = Matrices.random(DType.FLOAT, random, m, n);
    for (boolean add : BOTH) {
      Tensor expected = before.copy();
      ReferenceGemm.multiply(g, a, b, expected, add);
      Tensor c = before.copy();
      SparseAwareGemm.multiply(g, a.data(), b.data(), c.data(), add, 0, m, 0, n);
      for (long i = 0; i < c.elements(); i++) {
        assertEquals(expected.doubleAt(i), c.doubleAt(i), 3e-7 * (k + 8), g + " at " + i);
      }
      c.close();
      expected.close();
    }
  }

  @Test
  void partsOfTheResultLeaveTheRestAlone() {
    Random random = new Random(2);
    Gemm g = Gemm.of(DType.FLOAT, true, false, 90, 300, 20);
    Tensor a = sparse(random, 0.8, 90 * 20);
    Tensor b = Matrices.random(DType.FLOAT, random, 20, 300);
    Tensor whole = Tensor.of(Shape.of(90, 300), new float[90 * 300]);
    Tensor part = Tensor.of(Shape.of(90, 300), new float[90 * 300]);
    SparseAwareGemm.multiply(g, a.data(), b.data(), whole.data(), false, 0, 90, 0, 300);
    SparseAwareGemm.multiply(g, a.data(), b.data(), part.data(), false, 11, 70, 16, 290);
    for (int i = 0; i < 90; i++) {
      for (int j = 0; j < 300; j++) {
        boolean inside = i >= 11 && i < 70 && j >= 16 && j < 290;
        double expected = inside ? whole.doubleAt(i * 300 + j) : 0;
        assertEquals(expected, part.doubleAt(i * 300 + j), i + "," + j);
      }
    }
  }

  /** The first products only lend rows for practice. */
  private static void practise() {
    Random random = new Random(6);
    Tensor a = sparse(random, 0.9, 50 * 400);
    Tensor b = Matrices.random(DType.FLOAT, random, 400, 256);
    for (int i = 0; i < SparseAwareGemm.PRACTICE && !suits(false, a, b); i++) {}
  }

  @Test
  void isChosenWhereHalfOfTheLeftMatrixIsZero() {
    practise();
    Random random = new Random(3);
    Tensor b = Matrices.random(DType.FLOAT, random, 400, 256);
    for (boolean transA : BOTH) {
      assertTrue(suits(transA, sparse(random, 0.6, 50 * 400), b));
      assertFalse(suits(transA, sparse(random, 0.4, 50 * 400), b));
    }
  }

  /** Columns without zeros at regular distances are not taken for the whole. */
  @Test
  void isChosenByAllColumns() {
    practise();
    Tensor b = Matrices.random(DType.FLOAT, new Random(3), 400, 256);
    float[] values = new float[50 * 400];
    for (int i = 0; i < values.length; i++) {
      values[i] = i % 80 < 32 ? 0 : 1;
    }
    assertFalse(suits(false, Tensor.of(Shape.of(50, 400), values), b));
    for (int i = 0; i < values.length; i++) {
      values[i] = i % 80 < 32 ? 1 : 0;
    }
    assertTrue(suits(false, Tensor.of(Shape.of(50, 400), values), b));
  }

  /** What is left out must be zero, and zero times infinity is not. */
  @Test
  void zerosTimesNumbersThatAreNoneAreNotLeftOut() {
    practise();
    Random random = new Random(4);
    Tensor a = sparse(random, 0.9, 50 * 400);
    Tensor c = Tensor.allocate(DType.FLOAT, Shape.of(50, 256));
    for (float x : new float[] {Float.NaN, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY}) {
      for (int at : new int[] {0, 256 * 7 + 255, 256 * 400 - 1}) {
        Tensor b = Matrices.random(DType.FLOAT, random, 400, 256);
        b.setDouble(at, x);
        assertTrue(suits(false, a, b));
        Gemm.run(DType.FLOAT, false, false, 50, 256, 400, a.data(), b.data(), c.data(), false);
        for (int i = 0; i < 50; i++) {
          boolean zero = a.doubleAt(i * 400 + at / 256) == 0;
          double found = c.doubleAt(i * 256 + at % 256);
          assertTrue(zero || Float.isNaN(x) ? Double.isNaN(found) : Double.isInfinite(found));
        }
      }
    }
  }

  @Test
  void notANumberOnTheLeftSpreadsAlongItsRow() {
    practise();
    Random random = new Random(5);
    Tensor a = sparse(random, 0.9, 50 * 400);
    Tensor b = Matrices.random(DType.FLOAT, random, 400, 256);
    a.setDouble(3 * 400 + 5, Double.NaN);
    assertTrue(suits(false, a, b));
    Tensor c = Tensor.allocate(DType.FLOAT, Shape.of(50, 256));
    Gemm.run(DType.FLOAT, false, false, 50, 256, 400, a.data(), b.data(), c.data(), false);
    for (int i = 0; i < c.elements(); i++) {
      assertEquals(i / 256 == 3, Double.isNaN(c.doubleAt(i)));
    }
  }

  private static boolean suits(boolean transA, Tensor a, Tensor b) {
    Gemm g = Gemm.of(DType.FLOAT, transA, false, 50, 256, 400);
    return SparseAwareGemm.suits(g, a.data(), b.data());
  }

  private static Tensor sparse(Random random, double zeros, int n) {
    float[] values = new float[n];
    for (int i = 0; i < n; i++) {
      values[i] = random.nextDouble() < zeros ? 0 : (float) random.nextGaussian();
    }
    return Tensor.of(Shape.of(n), values);
  }
}
