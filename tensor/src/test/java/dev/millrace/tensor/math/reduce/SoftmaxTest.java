package dev.millrace.tensor.math.reduce;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.Parallel;
import dev.millrace.tensor.math.Samples;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

class SoftmaxTest {
  private static final int[] CLASSES = {1, 2, 7, 8, 10, 16, 17, 33, 100};

  private final Samples samples = new Samples(5);

  /** Softmax of row r as the definition has it. */
  private static double[] probabilities(Tensor x, int r, int n) {
    double max = Double.NEGATIVE_INFINITY;
    for (int i = 0; i < n; i++) {
      max = Math.max(max, x.doubleAt((long) r * n + i));
    }
    double[] e = new double[n];
    double sum = 0;
    for (int i = 0; i < n; i++) {
      e[i] = Math.exp(x.doubleAt((long) r * n + i) - max);
      sum += e[i];
    }
    for (int i = 0; i < n; i++) {
      e[i] /= sum;
    }
    return e;
  }

  private static double tolerance(DType type) {
    return switch (type) {
      case DOUBLE -> 1e-14;
      case FLOAT -> 2e-6;
      case HALF -> 4e-3;
      default -> 3e-2;
    };
  }

  private static double[] row(Tensor t, int r, int n) {
    return Arrays.copyOfRange(t.toDoubles(), r * n, (r + 1) * n);
  }

  @Test
  void softmaxAndItsLogarithmFollowTheDefinition() {
    for (DType type : DType.FLOATING) {
      for (int n : CLASSES) {
        Tensor x = samples.finite(type, Shape.of(5, n));
        Tensor y = Tensor.allocate(type, x.shape());
        Tensor log = Tensor.allocate(type, x.shape());
        Softmax.softmax(x, y, 5, n);
        Softmax.logSoftmax(x, log, 5, n);
        Tensor inPlace = x.copy();
        Softmax.softmax(inPlace, inPlace, 5, n);
        assertArrayEquals(y.toDoubles(), inPlace.toDoubles());
        for (int r = 0; r < 5; r++) {
          double[] p = probabilities(x, r, n);
          assertArrayEquals(p, row(y, r, n), tolerance(type));
          double[] logs = Arrays.stream(p).map(Math::log).toArray();
          assertArrayEquals(logs, row(log, r, n), 4 * tolerance(type));
        }
      }
    }
  }

  @Test
  void crossEntropyComparesRowsWithLabels() {
    for (DType type : DType.FLOATING) {
      for (int n : CLASSES) {
        Tensor x = samples.finite(type, Shape.of(4, n));
        Tensor labels = Tensor.allocate(type, x.shape());
        Softmax.softmax(samples.finite(type, x.shape()), labels, 4, n);
        Tensor loss = Tensor.allocate(type, Shape.of(4));
        Tensor backprop = Tensor.allocate(type, x.shape());
        Softmax.crossEntropy(x, labels, loss, backprop, 4, n);
        for (int r = 0; r < 4; r++) {
          double[] p = probabilities(x, r, n);
          double[] l = row(labels, r, n);
          double expected = 0;
          for (int i = 0; i < n; i++) {
            expected -= l[i] * Math.log(p[i]);
            p[i] -= l[i];
          }
          assertEquals(expected, loss.doubleAt(r), 8 * tolerance(type), type + " " + n);
          assertArrayEquals(p, row(backprop, r, n), 2 * tolerance(type));
        }
      }
    }
  }

  @Test
  void sparseLabelsAreLabelsWithASingleOne() {
    for (DType type : DType.FLOATING) {
      for (int n : CLASSES) {
        Tensor x = samples.finite(type, Shape.of(3, n));
        int[] places = {samples.below(n), samples.below(n), n - 1};
        Tensor dense = Tensor.allocate(type, x.shape());
        for (int i = 0; i < dense.elements(); i++) {
          dense.setDouble(i, places[i / n] == i % n ? 1 : 0);
        }
        Tensor loss = Tensor.allocate(type, Shape.of(3));
        Tensor backprop = Tensor.allocate(type, x.shape());
        Softmax.crossEntropy(x, dense, loss, backprop, 3, n);
        Tensor sparseLoss = Tensor.allocate(type, Shape.of(3));
        Tensor sparse = x.copy();
        Softmax.sparseCrossEntropy(sparse, Tensor.vector(places), sparseLoss, sparse, 3, n);
        assertArrayEquals(loss.toDoubles(), sparseLoss.toDoubles(), tolerance(type));
        assertArrayEquals(backprop.toDoubles(), sparse.toDoubles(), tolerance(type));
      }
    }
  }

  @Test
  void manyRowsOfFewClassesAreLikeEachAlone() {
    for (int n : new int[] {2, 10, 19}) {
      Tensor x = samples.finite(DType.FLOAT, Shape.of(301, n));
      long[] places = new long[301];
      Arrays.setAll(places, _ -> samples.below(n));
      Tensor loss = Tensor.allocate(DType.FLOAT, Shape.of(301));
      Tensor backprop = Tensor.allocate(DType.FLOAT, x.shape());
      Softmax.sparseCrossEntropy(x, Tensor.vector(places), loss, backprop, 301, n);
      for (int r = 0; r < 301; r++) {
        double[] p = probabilities(x, r, n);
        int label = (int) places[r];
        assertEquals(-Math.log(p[label]), loss.doubleAt(r), 2e-5);
        p[label] -= 1;
        assertArrayEquals(p, row(backprop, r, n), 4e-6);
      }
    }
  }

  @Test
  void largeScoresDoNotOverflowAndNoClassesCostNothing() {
    Tensor y = Tensor.allocate(DType.FLOAT, Shape.of(1, 3));
    Softmax.softmax(Tensor.of(Shape.of(1, 3), 1e30f, 1e30f, -1e30f), y, 1, 3);
    assertArrayEquals(new float[] {0.5f, 0.5f, 0}, y.toFloats());
    Softmax.softmax(Tensor.of(Shape.of(1, 3), 1f, Float.NaN, 2f), y, 1, 3);
    assertTrue(Float.isNaN(y.toFloats()[0]));
    Tensor none = Tensor.allocate(DType.FLOAT, Shape.of(2, 0));
    Softmax.softmax(none, none, 2, 0);
    Tensor loss = Tensor.vector(5f, 5f);
    Softmax.crossEntropy(none, none, loss, none, 2, 0);
    assertArrayEquals(new float[] {0, 0}, loss.toFloats());
  }

  /** As TensorFlow 2.21 does: 0 times infinity is no number. */
  @Test
  void labelOfZeroDoesNotHideAnInfiniteLogit() {
    Tensor x = Tensor.of(Shape.of(1, 2), 0f, Float.NEGATIVE_INFINITY);
    Tensor loss = Tensor.allocate(DType.FLOAT, Shape.of(1));
    Tensor backprop = Tensor.allocate(DType.FLOAT, x.shape());
    Softmax.crossEntropy(x, Tensor.of(Shape.of(1, 2), 1f, 0f), loss, backprop, 1, 2);
    assertTrue(Float.isNaN(loss.floatValue()));
    assertArrayEquals(new float[] {0, 0}, backprop.toFloats());
  }

  /** What is infinite times what is lost, class by class, rather than infinity less infinity. */
  @Test
  void infiniteLabelOfTheLikeliestClassIsAnInfiniteLoss() {
    for (int n : CLASSES) {
      Tensor x = samples.finite(DType.FLOAT, Shape.of(1, n + 1));
      Tensor labels = Tensor.of(x.shape(), new float[n + 1]);
      x.setDouble(n, 9);
      labels.setDouble(n, Double.POSITIVE_INFINITY);
      Tensor loss = Tensor.allocate(DType.FLOAT, Shape.of(1));
      Softmax.crossEntropy(x, labels, loss, Tensor.allocate(DType.FLOAT, x.shape()), 1, n + 1);
      assertEquals(Float.POSITIVE_INFINITY, loss.floatValue(), n + " other classes");
    }
  }

  @Test
  void manyRowsAreTheSameOnAnyNumberOfThreads() {
    Tensor x = samples.finite(DType.FLOAT, Shape.of(2000, 37));
    Tensor alone = Tensor.allocate(DType.FLOAT, x.shape());
    Tensor shared = Tensor.allocate(DType.FLOAT, x.shape());
    int before = Parallel.threads();
    try {
      Parallel.setThreads(1);
      Softmax.softmax(x, alone, 2000, 37);
      Parallel.setThreads(3);
      Softmax.softmax(x, shared, 2000, 37);
    } finally {
      Parallel.setThreads(before);
    }
    assertArrayEquals(alone.toFloats(), shared.toFloats());
  }
}
