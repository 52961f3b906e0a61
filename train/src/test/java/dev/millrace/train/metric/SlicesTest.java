package dev.millrace.train.metric;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.MillraceException;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class SlicesTest {
  private static final int N = 300;
  private final String[] keys = new String[N];
  private final double[] predictions = new double[N];
  private final double[] labels = new double[N];

  SlicesTest() {
    Random random = new Random(3);
    for (int i = 0; i < N; i++) {
      keys[i] = "slice " + random.nextInt(3);
      predictions[i] = random.nextInt(20) / 20.;
      labels[i] = random.nextInt(2);
    }
  }

  @Test
  void slicesOfWorkersMergeToTheMetricOfEachSlicesExamples() {
    Examples all = Examples.of(predictions, labels);
    Slices<ScoreCurve> merged = new Slices<>(ScoreCurve::new, 3);
    for (int w = 0; w < 4; w++) {
      Slices<ScoreCurve> part = new Slices<>(ScoreCurve::new, 3);
      int worker = w;
      int[] mine = IntStream.range(0, N).filter(i -> i % 4 == worker).toArray();
      String[] mineKeys = IntStream.of(mine).mapToObj(i -> keys[i]).toArray(String[]::new);
      part.add(mineKeys, all.select(mine));
      merged.merge(part.states());
    }
    assertEquals(List.of("slice 0", "slice 1", "slice 2"), List.copyOf(merged.metrics().keySet()));
    merged
        .metrics()
        .forEach(
            (key, curve) -> {
              ScoreCurve whole = new ScoreCurve();
              whole.add(
                  all.select(IntStream.range(0, N).filter(i -> keys[i].equals(key)).toArray()));
              assertEquals(whole.values(), curve.values(), key);
            });
  }

  @Test
  void sliceBeyondTheLimitIsRefused() {
    Slices<LogLoss> slices = new Slices<>(LogLoss::new, 2);
    MillraceException x =
        assertThrows(
            MillraceException.class, () -> slices.add(keys, Examples.of(predictions, labels)));
    assertTrue(x.getMessage().contains("one more than the 2 allowed"), x.getMessage());
  }
}
