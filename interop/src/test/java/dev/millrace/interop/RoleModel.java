package dev.millrace.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.cluster.ClusterSession;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.GlobalStep;
import dev.millrace.train.ReplicaDeviceSetter;
import dev.millrace.train.layers.Dense;
import dev.millrace.train.layers.Losses;
import dev.millrace.train.optimizer.GradientDescent;
import dev.millrace.train.variable.Initializers;
import dev.millrace.train.variable.VariableScope;
import dev.millrace.train.variable.Variables;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * What the clusters of a role matrix train: a multi-layer perceptron with its variables on the ps
 * and the rest on the worker.
 */
record RoleModel(Graph graph, Output x, Output y, Output loss, Node train, Node init) {
  static final int STEPS = 6;
  private static final float TOLERANCE = 1e-4f;

  /** Bits of a combination of roles; a set bit means TensorFlow has the role. */
  static final int CLIENT = 8;

  static final int MASTER = 4;
  static final int WORKER = 2;
  static final int PS = 1;

  static RoleModel build() {
    Graph graph = StandardOps.newGraph();
    Scope scope = Scope.of(graph).withDevice(ReplicaDeviceSetter.of(1, "/job:worker/task:0"));
    VariableScope vs = VariableScope.of(scope);
    Output x = Placeholder.of(scope.withName("x"), DType.FLOAT, Shape.of(-1, 20));
    Output y = Placeholder.of(scope.withName("y"), DType.INT64, Shape.of(-1));
    Output h =
        Dense.units(16)
            .kernel(Initializers.value(random(20, 16)))
            .activation((s, v) -> s.node("Relu").input(v).add().output())
            .of(vs, "hidden", x);
    Output logits = Dense.units(5).kernel(Initializers.value(random(16, 5))).of(vs, "logits", h);
    Output loss = Losses.sparseSoftmaxCrossEntropy(scope, logits, y);
    Node train = new GradientDescent(0.5f).minimize(scope, loss, GlobalStep.of(vs));
    return new RoleModel(graph, x, y, loss, train, Variables.initializer(scope));
  }

  private static Tensor random(int rows, int columns) {
    Random r = new Random(rows);
    float[] v = new float[rows * columns];
    for (int i = 0; i < v.length; i++) {
      v[i] = (float) r.nextGaussian() * 0.3f;
    }
    return Tensor.of(Shape.of(rows, columns), v);
  }

  Map<Output, Tensor> batch() {
    Random r = new Random(7);
    float[] images = new float[32 * 20];
    long[] labels = new long[32];
    for (int i = 0; i < images.length; i++) {
      images[i] = r.nextFloat();
    }
    for (int i = 0; i < labels.length; i++) {
      labels[i] = r.nextInt(5);
    }
    return Map.of(x, Tensor.of(Shape.of(32, 20), images), y, Tensor.of(Shape.of(32), labels));
  }

  /** Trains with Millrace as the client. */
  List<Float> lossesAt(String target) {
    List<Float> losses = new ArrayList<>();
    Map<Output, Tensor> batch = batch();
    try (Session session = new ClusterSession(graph, target)) {
      session.run(init);
      for (int i = 0; i < STEPS; i++) {
        losses.add(session.run(batch, List.of(loss), List.of(train)).getFirst().floatValue());
      }
    }
    return losses;
  }

  /** Checks losses against those of TensorFlow alone; and that something was learned. */
  static void assertLosses(List<Float> expected, List<Float> losses) {
    assertEquals(STEPS, losses.size());
    for (int i = 0; i < STEPS; i++) {
      assertEquals(expected.get(i), losses.get(i), TOLERANCE, "step " + i + " of " + losses);
    }
    assertTrue(losses.getLast() < losses.getFirst() - 0.01f, losses::toString);
  }
}
