package dev.millrace.train.metric;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

class ExamplesTest {
  private static void assertRefused(String reason, Executable action) {
    MillraceException x = assertThrows(MillraceException.class, action);
    assertTrue(x.getMessage().contains(reason), x.getMessage());
  }

  @Test
  void badExamplesAreNamed() {
    double[] one = {1};
    assertRefused("1 predictions, 2 labels", () -> Examples.of(one, new double[2]));
    assertRefused(
        "number 1 has prediction NaN",
        () -> Examples.of(new double[] {0, Double.NaN}, new double[2]));
    assertRefused("number 0 has weight -1.0", () -> Examples.weighted(one, one, new double[] {-1}));
    assertRefused("labels 0 and 1", () -> new ScoreCurve().add(Examples.of(one, new double[] {2})));
    assertRefused("Apply a sigmoid", () -> new LogLoss().add(Examples.of(new double[] {1.5}, one)));
    assertRefused(
        "class indices from 0 to 1",
        () -> new ConfusionMatrix(2).add(Examples.of(one, new double[] {2})));
    assertRefused(
        "made in the same way", () -> new Calibration(3).merge(new Calibration(4).state()));
  }

  @Test
  void logitsBecomeTheClassOfTheLargest() {
    try (Tensor logits = Tensor.of(Shape.of(2, 3), 1f, 3f, 2f, 5f, 5f, 4f);
        Tensor labels = Tensor.vector(1L, 0L)) {
      assertArrayEquals(new double[] {1, 0}, Examples.classes(logits, labels).predictions());
    }
  }

  @Test
  void metricsWithoutExamplesAreNotNumbers() {
    assertEquals(Double.NaN, new ScoreCurve().rocAuc());
    assertEquals(Double.NaN, new BucketedScoreCurve().prAuc());
    assertEquals(Double.NaN, new Regression().r2());
    assertEquals(Double.NaN, new LogLoss().mean());
  }
}
