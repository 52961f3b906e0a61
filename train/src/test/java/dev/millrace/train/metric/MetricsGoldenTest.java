package dev.millrace.train.metric;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Metrics against scikit-learn and TensorFlow, merged over 1 to 8 workers. */
class MetricsGoldenTest {
  private static final GoldenNumbers GOLDEN =
      new GoldenNumbers(MetricsGoldenTest.class, "metrics.txt");
  private static final double CLOSE = 1e-6;

  /** Deals the examples to workers in batches of 16 and merges what the workers have. */
  private static <M extends Metric> M merged(Supplier<M> metric, Examples all, int workers) {
    List<M> parts = new ArrayList<>();
    for (int w = 0; w < workers; w++) {
      parts.add(metric.get());
    }
    for (int start = 0, batch = 0; start < all.size(); start += 16, batch++) {
      int[] numbers = IntStream.range(start, Math.min(start + 16, all.size())).toArray();
      parts.get(batch % workers).add(all.select(numbers));
    }
    M result = metric.get();
    for (M part : parts) {
      try (Tensor sent = Tensor.vector(part.state())) {
        result.merge(sent.toDoubles());
      }
    }
    return result;
  }

  private static Examples binary(boolean weighted) {
    double[] p = GOLDEN.row("probabilities");
    double[] labels = GOLDEN.row("labels");
    return weighted ? Examples.weighted(p, labels, GOLDEN.row("weights")) : Examples.of(p, labels);
  }

  private static void assertGolden(Metric metric, String suffix) {
    for (Map.Entry<String, Double> value : metric.values().entrySet()) {
      String name = value.getKey() + suffix;
      assertEquals(GOLDEN.number(name), value.getValue(), CLOSE, name);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8})
  void yesOrNoMetricsAreScikitLearns(int workers) {
    for (boolean weighted : new boolean[] {false, true}) {
      String suffix = weighted ? ".weighted" : "";
      assertGolden(merged(BinaryClassification::new, binary(weighted), workers), suffix);
      assertGolden(merged(LogLoss::new, binary(weighted), workers), suffix);
      assertGolden(merged(ScoreCurve::new, binary(weighted), workers), suffix);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8})
  void bucketedCurvesAreKeras(int workers) {
    for (boolean weighted : new boolean[] {false, true}) {
      for (int thresholds : new int[] {200, 20}) {
        BucketedScoreCurve curve =
            merged(() -> new BucketedScoreCurve(thresholds), binary(weighted), workers);
        String suffix = "." + thresholds + (weighted ? ".weighted" : "");
        assertEquals(GOLDEN.number("keras.ROC" + suffix), curve.rocAuc(), CLOSE, suffix);
        assertEquals(GOLDEN.number("keras.PR" + suffix), curve.prAuc(), CLOSE, suffix);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 5, 8})
  void calibrationIsScikitLearns(int workers) {
    Calibration c = merged(() -> new Calibration(7), binary(false), workers);
    double[] positives = new double[7];
    double[] predictions = new double[7];
    double error = 0;
    for (int b = 0; b < 7; b++) {
      positives[b] = c.positives(b);
      predictions[b] = c.meanPrediction(b);
      error += c.weight(b) * Math.abs(positives[b] - predictions[b]) / binary(false).size();
    }
    assertArrayEquals(GOLDEN.row("calibration.positives"), positives, CLOSE);
    assertArrayEquals(GOLDEN.row("calibration.predictions"), predictions, CLOSE);
    assertEquals(GOLDEN.number("calibration.ratio"), c.ratio(), CLOSE);
    assertEquals(error, c.expectedError(), CLOSE);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8})
  void confusionMatrixIsScikitLearns(int workers) {
    Examples all = Examples.of(GOLDEN.row("taken"), GOLDEN.row("classes"));
    ConfusionMatrix m = merged(() -> new ConfusionMatrix(4), all, workers);
    assertArrayEquals(GOLDEN.row("confusion"), m.state());
    for (int c = 0; c < 4; c++) {
      assertEquals(GOLDEN.row("classes.precision")[c], m.precision(c), CLOSE);
      assertEquals(GOLDEN.row("classes.recall")[c], m.recall(c), CLOSE);
      assertEquals(GOLDEN.row("classes.f1")[c], m.f1(c), CLOSE);
    }
    assertEquals(GOLDEN.number("classes.accuracy"), m.accuracy(), CLOSE);
    assertEquals(GOLDEN.number("classes.macro_f1"), m.values().get("macro_f1"), CLOSE);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8})
  void regressionIsScikitLearns(int workers) {
    double[] estimates = GOLDEN.row("estimates");
    double[] targets = GOLDEN.row("targets");
    assertGolden(merged(Regression::new, Examples.of(estimates, targets), workers), "");
    Examples weighted = Examples.weighted(estimates, targets, GOLDEN.row("weights"));
    assertGolden(merged(Regression::new, weighted, workers), ".weighted");
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8})
  void rankingIsScikitLearns(int workers) {
    int[][] settings = {{Integer.MAX_VALUE, 0}, {5, 0}, {5, 1}};
    String[] names = {"ndcg", "ndcg.5", "ndcg.exponential.5"};
    for (int i = 0; i < settings.length; i++) {
      int places = settings[i][0];
      Ranking.Gain gain = Ranking.Gain.values()[settings[i][1]];
      Ranking result = new Ranking(places, gain);
      for (int w = 0; w < workers; w++) {
        Ranking part = new Ranking(places, gain);
        addQueries(part, w, workers);
        result.merge(part.state());
      }
      assertEquals(GOLDEN.number(names[i]), result.ndcg(), CLOSE, names[i]);
      assertEquals(GOLDEN.number("mean_average_precision"), result.meanAveragePrecision(), CLOSE);
    }
  }

  /** Adds every nth query, padded with two items that a high score would put first. */
  private static void addQueries(Ranking ranking, int worker, int workers) {
    int items = 12;
    double[] scores = GOLDEN.row("scores");
    double[] relevances = GOLDEN.row("relevances");
    for (int q = worker; q < scores.length / items; q += workers) {
      double[] s = new double[items + 2];
      double[] r = new double[items + 2];
      System.arraycopy(scores, q * items, s, 1, items);
      System.arraycopy(relevances, q * items, r, 1, items);
      s[0] = s[items + 1] = 100;
      r[0] = r[items + 1] = -1;
      try (Tensor st = Tensor.of(Shape.of(1, items + 2), s);
          Tensor rt = Tensor.of(Shape.of(1, items + 2), r)) {
        ranking.add(Examples.ranked(st, rt));
      }
    }
  }
}
