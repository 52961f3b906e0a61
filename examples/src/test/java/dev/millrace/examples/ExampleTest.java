package dev.millrace.examples;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.tensor.Tensor;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Every example gives the result it is there to show. */
class ExampleTest {
  @Test
  void helloComesFromTwoTasks() {
    assertEquals("Hello, distributed TensorFlow!", HelloCluster.greeting());
  }

  @Test
  void pinnedNodesAreLoggedOnTheirDevices() {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (Tensor product = DevicePinning.product(new PrintStream(bytes, true))) {
      assertArrayEquals(new float[] {22, 28, 49, 64}, product.toFloats());
    }
    String log = bytes.toString(StandardCharsets.UTF_8);
    assertTrue(log.contains("a: (Const): /job:localhost/replica:0/task:0/device:CPU:0"), log);
    assertTrue(log.contains("b: (Const): /job:localhost/replica:0/task:0/device:CPU:0"), log);
    assertTrue(log.contains("c: (MatMul): /job:localhost/replica:0/task:0/device:CPU:1"), log);
  }

  @Test
  void threeWorkersComputeWithTheSameVariables() {
    assertEquals(List.of(9f, 18f, 2f), SharedVariables.results());
  }

  @Test
  void softmaxRegressionLearnsAsynchronously() {
    double accuracy = SoftmaxAsync.accuracy();
    assertTrue(accuracy > .8, "accuracy " + accuracy);
  }

  @Test
  void aBackupWorkerDoesNotHinderLearning() {
    double accuracy = SyncBackupWorkers.accuracy();
    assertTrue(accuracy > .8, "accuracy " + accuracy);
  }

  @Test
  void towersLearnTogether() {
    double accuracy = CnnTowers.accuracy();
    assertTrue(accuracy > .8, "accuracy " + accuracy);
  }

  @Test
  void layersOnDifferentTasksLearn() {
    double accuracy = ModelParallelism.accuracy();
    assertTrue(accuracy > .8, "accuracy " + accuracy);
  }

  @Test
  void replicasInOneGraphFindTheLine() {
    assertArrayEquals(new float[] {2, -1}, InGraphReplication.line(), .01f);
  }

  @Test
  void ranksOfARingAgree() {
    List<RingAllReduce.Result> results = RingAllReduce.results();
    assertEquals(2, results.size());
    for (RingAllReduce.Result r : results) {
      assertArrayEquals(new float[] {1, 2}, r.sum());
      assertTrue(r.accuracy() > .8, "accuracy " + r.accuracy());
      assertEquals(results.getFirst().accuracy(), r.accuracy());
    }
  }

  @Test
  void anEmbeddingInPartsLearnsByRows() {
    PartitionedEmbedding.Result r = PartitionedEmbedding.result();
    assertEquals(.25, r.firstLoss(), .05);
    assertTrue(r.lastLoss() < .15, "loss " + r.lastLoss());
    assertTrue(r.stepBytes() * 100 < r.tableBytes());
  }

  // README claim: run-examples
  @Test
  void everyExampleHasANameOfItsOwn() {
    assertEquals(10, Example.values().length);
    assertEquals("model-parallel", Example.MODEL_PARALLEL.toString());
  }
}
