package dev.millrace.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.cluster.Server;
import dev.millrace.proto.ConfigProto;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A program of TensorFlow 1 that takes its input from tf.data, with Millrace's servers. */
@NeedsPython
class DatasetTrainingTest {
  private static final int STEPS = 40;
  private static final int TESTS = 3;

  @TempDir Path folder;

  /** Order and values of the elements are TensorFlow's, so the losses are. */
  // README claim: tf-data
  @Test
  void aWorkerFeedsItselfFromItsDataset() {
    LoopbackCluster cluster = LoopbackCluster.psAndWorkers(1, 1);
    ConfigProto config = ConfigProto.getDefaultInstance();
    Map<String, double[]> losses = new HashMap<>();
    try (cluster;
        Server _ = MillraceServer.startHere(cluster.server("ps", 0, config));
        Server _ = MillraceServer.startHere(cluster.server("worker", 0, config))) {
      String records = folder.resolve("rows.tfrecord").toString();
      String printed =
          PythonTensorFlow.find()
              .run(
                  "dataset_training.py",
                  List.of(records, "local", cluster.target("worker", 0), cluster.target("ps", 0)),
                  Duration.ofMinutes(3));
      for (String line : printed.lines().toList()) {
        String[] words = line.split(" ");
        losses.put(words[0], Stream.of(words).skip(1).mapToDouble(Double::parseDouble).toArray());
      }
    }
    double[] expected = losses.get("local");
    assertEquals(STEPS + TESTS, expected.length);
    assertTrue(expected[STEPS - 1] < .1 * expected[0], "it has learnt");
    for (String job : List.of("worker", "ps")) {
      double[] found = losses.get(cluster.target(job, 0));
      assertEquals(expected.length, found.length, job);
      for (int i = 0; i < found.length; i++) {
        assertEquals(expected[i], found[i], 1e-4 * Math.max(1, expected[i]), job + ", step " + i);
      }
    }
  }
}
