package dev.millrace.tensor.math.gemm;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.Matrices;
import dev.millrace.tensor.math.ReferenceGemm;
import java.lang.foreign.MemorySegment;
import java.util.Random;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class GemmTest {
  /** Sizes at and around the edges of tiles, vectors, panels and blocks. */
  private static final int[] SIZES = {
    1, 2, 3, 5, 7, 8, 9, 10, 15, 16, 17, 31, 32, 33, 63, 65, 100, 130
  };

  private static final int[] DEPTHS = {1, 2, 4, 10, 16, 31, 100, 255, 256, 257, 520};

  @ParameterizedTest
  @EnumSource(names = {"FLOAT", "DOUBLE", "HALF", "BFLOAT16", "INT32", "INT64"})
  void productsOfRandomShapesEqualTheReference(DType type) {
    SplittableRandom random = new SplittableRandom(7);
    for (int i = 0; i < 40; i++) {
      Gemm g = randomGemm(type, random);
      check(g, random, Gemm::multiply);
    }
  }

  @EnabledIf("dev.millrace.tensor.VectorModule#isPresent")
  @ParameterizedTest
  @EnumSource(names = {"FLOAT", "DOUBLE"})
  void vectorProductsEqualTheReference(DType type) {
    SplittableRandom random = new SplittableRandom(8);
    for (int i = 0; i < 40; i++) {
      Gemm g = randomGemm(type, random);
      check(g, random, GemmTest::withVectors);
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"FLOAT", "DOUBLE"})
  void plainProductsEqualTheReference(DType type) {
    SplittableRandom random = new SplittableRandom(6);
    for (int i = 0; i < 40; i++) {
      check(randomGemm(type, random), random, GemmTest::withoutVectors);
    }
    check(Gemm.of(type, true, true, 5, 700, 130), random, GemmTest::withoutVectors);
  }

  @Test
  void largeProductsAreSplitAndEqualTheReference() {
    SplittableRandom random = new SplittableRandom(9);
    for (boolean transA : new boolean[] {false, true}) {
      for (boolean transB : new boolean[] {false, true}) {
        check(Gemm.of(DType.FLOAT, transA, transB, 50, 300, 284), random, Gemm::multiply);
        check(Gemm.of(DType.FLOAT, transA, transB, 384, 130, 100), random, Gemm::multiply);
        check(Gemm.of(DType.FLOAT, transA, transB, 700, 10, 100), random, Gemm::multiply);
        check(Gemm.of(DType.DOUBLE, transA, transB, 150, 160, 100), random, Gemm::multiply);
      }
    }
  }

  @Test
  void thinProductsOfATransposedMatrixEqualTheReference() {
    SplittableRandom random = new SplittableRandom(12);
    for (int n : new int[] {4, 5, 7, 10, 15, 16, 17, 20}) {
      for (int m : new int[] {32, 33, 129, 160, 300}) {
        for (int k : new int[] {1, 100, 300}) {
          check(Gemm.of(DType.FLOAT, true, false, m, n, k), random, Gemm::multiply);
          int gap = random.nextInt(3);
          check(
              new Gemm(DType.FLOAT, true, false, m, n, k, m + gap, n + gap, n + gap),
              random,
              Gemm::multiply);
        }
      }
    }
  }

  @Test
  void matricesLargerThanTheCacheEqualTheReference() {
    SplittableRandom random = new SplittableRandom(10);
    for (boolean transA : new boolean[] {false, true}) {
      check(Gemm.of(DType.FLOAT, transA, false, 2, 1000, 1100), random, Gemm::multiply);
      check(Gemm.of(DType.FLOAT, transA, transA, 1100, 1000, 2), random, Gemm::multiply);
    }
  }

  @EnabledIf("dev.millrace.tensor.VectorModule#isPresent")
  @Test
  void vectorProductsOfWholePanelsEqualTheReference() {
    SplittableRandom random = new SplittableRandom(11);
    for (boolean transA : new boolean[] {false, true}) {
      for (boolean transB : new boolean[] {false, true}) {
        check(Gemm.of(DType.FLOAT, transA, transB, 17, 32, 260), random, GemmTest::withVectors);
        check(Gemm.of(DType.FLOAT, transA, transB, 9, 544, 20), random, GemmTest::withVectors);
      }
    }
  }

  /** Zeros are left out of plain products, but not of rows that are not numbers. */
  @Test
  void plainProductsOfZerosPassOnWhatIsNotANumber() {
    for (boolean transB : new boolean[] {false, true}) {
      Tensor a = Tensor.of(Shape.of(3, 100), new float[300]);
      a.setDouble(100 + 7, 2);
      Tensor b = Matrices.random(DType.FLOAT, new Random(2), 100, 5);
      int row = 80;
      b.setDouble(transB ? 3 * 100 + row : row * 5 + 3, Double.NaN);
      Tensor c = Tensor.allocate(DType.FLOAT, Shape.of(3, 5));
      withoutVectors(
          Gemm.of(DType.FLOAT, false, transB, 3, 5, 100), a.data(), b.data(), c.data(), false);
      for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 5; j++) {
          double expected = i == 1 ? 2 * b.doubleAt(transB ? j * 100 + 7 : 7 * 5 + j) : 0;
          assertEquals(j == 3 ? Double.NaN : expected, c.doubleAt(i * 5 + j), 1e-6, i + "," + j);
        }
      }
    }
  }

  @Test
  void plainProductsOfMostlyZerosEqualTheReference() {
    for (boolean transA : new boolean[] {false, true}) {
      Gemm g = Gemm.of(DType.FLOAT, transA, false, 17, 40, 150);
      Random random = new Random(5);
      float[] values = new float[17 * 150];
      for (int i = 0; i < values.length; i++) {
        values[i] = random.nextInt(10) < 8 ? 0 : random.nextFloat();
      }
      Tensor a = Tensor.of(Shape.of(17 * 150), values);
      Tensor b = Matrices.random(DType.FLOAT, random, 150, 40);
      Tensor expected = Tensor.allocate(DType.FLOAT, Shape.of(17, 40));
      ReferenceGemm.multiply(g, a, b, expected, false);
      Tensor c = Tensor.allocate(DType.FLOAT, Shape.of(17, 40));
      withoutVectors(g, a.data(), b.data(), c.data(), false);
      for (long i = 0; i < c.elements(); i++) {
        assertEquals(expected.doubleAt(i), c.doubleAt(i), 1e-4, g + " at " + i);
      }
    }
  }

  @EnabledIf("dev.millrace.tensor.VectorModule#isPresent")
  @Test
  void vectorProductsPassOnWhatIsNotANumber() {
    for (int n : new int[] {1, 10, 40}) {
      Tensor a = Matrices.random(DType.FLOAT, new Random(1), 9, 33);
      Tensor b = Matrices.random(DType.FLOAT, new Random(2), 33, n);
      a.setDouble(3 * 33 + 32, Double.NaN);
      a.setDouble(5 * 33, Double.POSITIVE_INFINITY);
      Tensor c = Tensor.allocate(DType.FLOAT, Shape.of(9, n));
      withVectors(
          Gemm.of(DType.FLOAT, false, false, 9, n, 33), a.data(), b.data(), c.data(), false);
      for (int i = 0; i < 9; i++) {
        for (int j = 0; j < n; j++) {
          double x = c.doubleAt((long) i * n + j);
          assertEquals(i == 3, Double.isNaN(x), i + "," + j);
          assertEquals(i == 5, Double.isInfinite(x), i + "," + j);
        }
      }
    }
  }

  private static void withoutVectors(
      Gemm g, MemorySegment a, MemorySegment b, MemorySegment c, boolean add) {
    PlainGemm.multiply(g, a, b, c, add, 0, g.m(), 0, g.n());
  }

  private static void withVectors(
      Gemm g, MemorySegment a, MemorySegment b, MemorySegment c, boolean add) {
    VectorGemm.multiply(g, a, b, c, add, 0, g.m(), 0, g.n());
  }

  @EnabledIf("dev.millrace.tensor.VectorModule#isPresent")
  @Test
  void partsOfTheResultLeaveTheRestAlone() {
    Random random = new Random(3);
    Gemm g = Gemm.of(DType.FLOAT, false, false, 40, 50, 20);
    Tensor a = Matrices.random(DType.FLOAT, random, 40, 20);
    Tensor b = Matrices.random(DType.FLOAT, random, 20, 50);
    Tensor whole = Tensor.allocate(DType.FLOAT, Shape.of(40, 50));
    Tensor part = Tensor.allocate(DType.FLOAT, Shape.of(40, 50));
    part.data().fill((byte) 0);
    VectorGemm.multiply(g, a.data(), b.data(), whole.data(), false, 0, 40, 0, 50);
    VectorGemm.multiply(g, a.data(), b.data(), part.data(), false, 11, 30, 7, 44);
    for (int i = 0; i < 40; i++) {
      for (int j = 0; j < 50; j++) {
        boolean inside = i >= 11 && i < 30 && j >= 7 && j < 44;
        float expected = inside ? (float) whole.doubleAt(i * 50 + j) : 0;
        assertEquals(expected, part.doubleAt(i * 50 + j), 1e-5, i + "," + j);
      }
    }
  }

  @Test
  void withoutInnerDimensionTheResultIsZero() {
    Tensor none = Tensor.allocate(DType.FLOAT, Shape.of(0));
    Tensor c = Tensor.vector(1f, 2, 3, 4, 5, 6);
    Gemm.run(DType.FLOAT, false, false, 2, 3, 0, none.data(), none.data(), c.data(), true);
    assertArrayEquals(new float[] {1, 2, 3, 4, 5, 6}, c.toFloats());
    Gemm.run(DType.FLOAT, false, false, 2, 3, 0, none.data(), none.data(), c.data(), false);
    assertArrayEquals(new float[6], c.toFloats());
  }

  @Test
  void oldContentsDoNotMatterUnlessAdded() {
    Tensor a = Tensor.vector(1f, 2);
    Tensor c = Tensor.vector(Float.NaN);
    Gemm.run(DType.FLOAT, false, false, 1, 1, 2, a.data(), a.data(), c.data(), false);
    assertEquals(5, c.floatValue());
    Gemm.run(DType.FLOAT, false, false, 1, 1, 2, a.data(), a.data(), c.data(), true);
    assertEquals(10, c.floatValue());
  }

  @Test
  void notANumberSpreadsOnlyAlongItsRow() {
    Tensor a = Tensor.of(Shape.of(2, 2), 0f, Float.NaN, 1, 1);
    Tensor b = Tensor.of(Shape.of(2, 2), 1f, 2, 3, 4);
    Tensor c = Tensor.allocate(DType.FLOAT, Shape.of(2, 2));
    Gemm.run(DType.FLOAT, false, false, 2, 2, 2, a.data(), b.data(), c.data(), false);
    assertArrayEquals(new float[] {Float.NaN, Float.NaN, 4, 6}, c.toFloats());
  }

  @Test
  void theSameProductTwiceIsTheSameToTheBit() {
    Random random = new Random(4);
    for (DType type : new DType[] {DType.FLOAT, DType.DOUBLE}) {
      Tensor a = Matrices.random(type, random, 333, 444);
      Tensor b = Matrices.random(type, random, 444, 222);
      Tensor first = Tensor.allocate(type, Shape.of(333, 222));
      Tensor again = Tensor.allocate(type, Shape.of(333, 222));
      Gemm.run(type, false, false, 333, 222, 444, a.data(), b.data(), first.data(), false);
      for (int i = 0; i < 20; i++) {
        Gemm.run(type, false, false, 333, 222, 444, a.data(), b.data(), again.data(), false);
        assertEquals(-1, first.data().mismatch(again.data()));
      }
    }
  }

  @Test
  void integersWrapAround() {
    Tensor a = Tensor.vector(Integer.MAX_VALUE, 2);
    Tensor b = Tensor.vector(2, Integer.MAX_VALUE);
    Tensor c = Tensor.vector(0);
    Gemm.run(DType.INT32, false, false, 1, 1, 2, a.data(), b.data(), c.data(), false);
    assertEquals((int) (4L * Integer.MAX_VALUE), c.intValue());
  }

  @Test
  void matricesThatDoNotFitTheirMemoryAreRefused() {
    MemorySegment six = Tensor.vector(1f, 2, 3, 4, 5, 6).data();
    MemorySegment heap = MemorySegment.ofArray(new float[6]);
    Gemm g = Gemm.of(DType.FLOAT, false, false, 2, 2, 3);
    assertThrows(IllegalArgumentException.class, () -> g.multiply(six, six.asSlice(4), six, false));
    assertThrows(IllegalArgumentException.class, () -> g.multiply(heap, six, six, false));
  }

  @Test
  void typesWithoutAProductAreNamed() {
    MemorySegment one = Tensor.scalar(true).data();
    MillraceException e =
        assertThrows(
            MillraceException.class,
            () -> Gemm.run(DType.BOOL, false, false, 1, 1, 1, one, one, one, false));
    assertTrue(e.getMessage().contains("bool"));
  }

  private interface Product {
    void compute(Gemm g, MemorySegment a, MemorySegment b, MemorySegment c, boolean add);
  }

  private static Gemm randomGemm(DType type, SplittableRandom random) {
    int m = SIZES[random.nextInt(SIZES.length)];
    int n = SIZES[random.nextInt(SIZES.length)];
    int k = DEPTHS[random.nextInt(DEPTHS.length)];
    boolean transA = random.nextBoolean();
    boolean transB = random.nextBoolean();
    int gap = random.nextBoolean() ? 0 : random.nextInt(5);
    Gemm g = Gemm.of(type, transA, transB, m, n, k);
    return new Gemm(type, transA, transB, m, n, k, g.lda() + gap, g.ldb() + gap, g.ldc() + gap);
  }

  /** Compares with {@link ReferenceGemm}; elements between the rows of C must stay as they were. */
  private static void check(Gemm g, SplittableRandom random, Product product) {
    Tensor a = Matrices.random(g.type(), random, g.transA() ? g.k() : g.m(), g.lda());
    Tensor b = Matrices.random(g.type(), random, g.transB() ? g.n() : g.k(), g.ldb());
    Tensor before = Matrices.random(g.type(), random, g.m(), g.ldc());
    for (boolean add : new boolean[] {false, true}) {
      Tensor expected = before.copy();
      ReferenceGemm.multiply(g, a, b, expected, add);
      Tensor c = before.copy();
      product.compute(g, a.data(), b.data(), c.data(), add);
      double tolerance =
          switch (g.type()) {
            case FLOAT -> 3e-7 * (g.k() + 8);
            case DOUBLE -> 1e-15 * (g.k() + 8);
            case HALF -> 2e-3 * Math.sqrt(g.k() + 1);
            case BFLOAT16 -> 2e-2 * Math.sqrt(g.k() + 1);
            default -> 0;
          };
      for (long i = 0; i < c.elements(); i++) {
        double found = c.doubleAt(i);
        if (!(Math.abs(found - expected.doubleAt(i)) <= tolerance)) {
          assertEquals(
              expected.doubleAt(i), found, tolerance, g + ", element " + i + " add " + add);
        }
      }
      c.close();
      expected.close();
    }
    a.close();
    b.close();
    before.close();
  }
}
