package dev.millrace.examples;

import dev.millrace.cluster.InProcessCluster;
import dev.millrace.examples.mnist.MnistData;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.nn.Activations;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.layers.Dense;
import dev.millrace.train.layers.Losses;
import dev.millrace.train.layers.Metrics;
import dev.millrace.train.optimizer.GradientDescent;
import dev.millrace.train.variable.VariableScope;
import dev.millrace.train.variable.Variables;
import java.util.Map;

/**
 * A network cut between its layers: the first is on one task with its variables, the second on
 * another. Only what flows between the layers travels, forwards and backwards.
 *
 * <pre>
 * with tf.device("/job:worker/task:0"):
 *   hidden = tf.layers.dense(x, 128, tf.nn.relu)
 * with tf.device("/job:worker/task:1"):
 *   logits = tf.layers.dense(hidden, 10)
 * train_op = opt.minimize(loss, colocate_gradients_with_ops=True)
 * </pre>
 */
public final class ModelParallelism {
  private static final int STEPS = 200;

  private ModelParallelism() {}

  /** Trains and prints the accuracy. */
  public static void main(String[] args) {
    System.out.printf("accuracy %.3f%n", accuracy());
  }

  static double accuracy() {
    Graph graph = StandardOps.newGraph();
    graph.setSeed(1);
    Scope scope = Scope.of(graph);
    Scope lower = scope.withDevice("/job:worker/task:0");
    Scope upper = scope.withDevice("/job:worker/task:1");
    Output x = Placeholder.of(lower, DType.FLOAT, Shape.of(-1, MnistData.PIXELS));
    Output y = Placeholder.of(upper, DType.INT64, Shape.of(-1));
    Output hidden = Dense.of(VariableScope.of(lower), "hidden", x, 128, Activations::relu);
    Output logits = Dense.of(VariableScope.of(upper), "logits", hidden, MnistData.CLASSES);
    Output loss = Losses.sparseSoftmaxCrossEntropy(upper, logits, y);
    Output accuracy = Metrics.accuracy(upper, logits, y);
    // Each gradient is computed where its forward op is; otherwise activations would travel twice.
    GradientDescent descent = new GradientDescent(.3f);
    Node train =
        descent.applyGradients(
            scope, descent.computeGradients(scope, loss, Variables.trainable(graph), true), null);

    try (InProcessCluster cluster =
            InProcessCluster.start(Map.of("worker", 2), StandardOps.registry());
        Session session = cluster.server("worker", 0).session(graph)) {
      session.run(Variables.initializer(scope));
      MnistData.Batches batches = MnistData.train(null).batches(100, 1);
      for (int i = 0; i < STEPS; i++) {
        Tensor[] batch = batches.next();
        session.run(Map.of(x, batch[0], y, batch[1]), train);
      }
      MnistData test = MnistData.test(null);
      return session
          .fetch(accuracy, Map.of(x, test.images(0, 2000), y, test.labels(0, 2000)))
          .doubleValue();
    }
  }
}
