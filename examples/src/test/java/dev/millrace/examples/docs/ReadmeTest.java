package dev.millrace.examples.docs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import dev.millrace.cluster.ClusterSession;
import dev.millrace.cluster.InProcessCluster;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.junit.TestCluster;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.ReplicaDeviceSetter;
import dev.millrace.train.layers.Dense;
import dev.millrace.train.variable.VariableScope;
import dev.millrace.train.variable.Variables;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Contains the sample of the README, and checks what it computes. */
class ReadmeTest {
  private static final int PIXELS = 784;
  private static final int CLASSES = 10;

  @Test
  @TestCluster(ps = 1, workers = 1)
  void aSessionOnAClusterRunsTheGraph(InProcessCluster cluster) {
    String target = cluster.server("worker", 0).target();
    Tensor images = images();
    // sample session
    Graph graph = StandardOps.newGraph();
    // Variables on the parameter server, all else on the worker.
    Scope scope = Scope.of(graph).withDevice(ReplicaDeviceSetter.of(1, "/job:worker/task:0"));
    Output x = Placeholder.of(scope, DType.FLOAT, Shape.of(-1, 784));
    Output y = Dense.of(VariableScope.of(scope), "logits", x, 10);
    try (Session session = new ClusterSession(graph, target)) { // grpc://localhost:2221
      session.run(Variables.initializer(scope));
      Tensor logits = session.fetch(y, Map.of(x, images));
      System.out.println(logits);
    }
    // end
    assertLogitsAreTheProduct(graph, y, Map.of(x, images), target);
  }

  /** Two images without a pixel in common, so that their logits differ. */
  private static Tensor images() {
    float[] pixels = new float[2 * PIXELS];
    for (int i = 0; i < pixels.length; i += 2) {
      pixels[i < PIXELS ? i : i + 1] = i % 7 / 6f;
    }
    return Tensor.of(Shape.of(2, PIXELS), pixels);
  }

  /** Compares the session's logits with a product computed here from the same variables. */
  private static void assertLogitsAreTheProduct(
      Graph graph, Output y, Map<Output, Tensor> feeds, String target) {
    float[] expected = new float[2 * CLASSES];
    float[] pixels = feeds.values().iterator().next().toFloats();
    try (Session session = new ClusterSession(graph, target);
        Tensor weights = session.fetch(graph.node("logits/kernel").output());
        Tensor logits = session.fetch(y, feeds)) {
      float[] w = weights.toFloats();
      for (int image = 0; image < 2; image++) {
        for (int c = 0; c < CLASSES; c++) {
          for (int i = 0; i < PIXELS; i++) {
            expected[image * CLASSES + c] += pixels[image * PIXELS + i] * w[i * CLASSES + c];
          }
        }
      }
      assertEquals(Shape.of(2, CLASSES), logits.shape());
      assertArrayEquals(expected, logits.toFloats(), 1e-4f);
      assertNotEquals(expected[0], expected[CLASSES], "the images must have different logits");
    }
  }
}
