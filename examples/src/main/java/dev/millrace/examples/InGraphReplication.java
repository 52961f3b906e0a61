package dev.millrace.examples;

import dev.millrace.cluster.InProcessCluster;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.array.Split;
import dev.millrace.ops.math.AddN;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.math.MatMul;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.layers.Losses;
import dev.millrace.train.optimizer.GradientDescent;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Initializers;
import dev.millrace.train.variable.VariableScope;
import dev.millrace.train.variable.Variables;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * In-graph replication: one client builds one graph with a replica of the model on every worker and
 * one set of variables on the parameter server, and feeds a batch that is split between them. Here
 * the model is a line through noisy points, so that the result is known.
 *
 * <pre>
 * with tf.device("/job:ps/task:0"):
 *   w = tf.get_variable("w", [2, 1], initializer=tf.zeros_initializer())
 * losses = []
 * for i, (xi, yi) in enumerate(zip(tf.split(x, 3), tf.split(y, 3))):
 *   with tf.device("/job:worker/task:%d" % i):
 *     losses.append(tf.losses.mean_squared_error(yi, tf.matmul(xi, w)))
 * loss = tf.add_n(losses) / 3
 * train_op = opt.minimize(loss, colocate_gradients_with_ops=True)
 * </pre>
 */
public final class InGraphReplication {
  private static final int WORKERS = 3;
  private static final int BATCH = 300;
  private static final int STEPS = 100;

  private InGraphReplication() {}

  /** Prints slope and intercept, which are 2 and -1 but for the noise. */
  public static void main(String[] args) {
    float[] line = line();
    System.out.printf("y = %.3f x + %.3f%n", line[0], line[1]);
  }

  static float[] line() {
    Graph graph = StandardOps.newGraph();
    Scope scope = Scope.of(graph);
    Scope ps = scope.withDevice("/job:ps/task:0");
    GraphVariable w = VariableScope.of(ps).variable("w", Shape.of(2, 1), Initializers.zeros());
    // Split on the parameter server: each worker receives its rows only.
    Output x = Placeholder.of(ps, DType.FLOAT, Shape.of(BATCH, 2));
    Output y = Placeholder.of(ps, DType.FLOAT, Shape.of(BATCH, 1));
    List<Output> xs = Split.of(ps, x, WORKERS, 0);
    List<Output> ys = Split.of(ps, y, WORKERS, 0);
    List<Output> losses = new ArrayList<>();
    for (int i = 0; i < WORKERS; i++) {
      Scope worker = scope.withDevice("/job:worker/task:" + i).withSubScope("replica_" + i);
      Output prediction = MatMul.of(worker, xs.get(i), w.read());
      losses.add(Losses.meanSquaredError(worker, prediction, ys.get(i)));
    }
    Output loss = Arithmetic.scaled(ps, AddN.of(ps, losses), 1. / WORKERS);
    GradientDescent descent = new GradientDescent(.3f);
    Node train =
        descent.applyGradients(
            scope, descent.computeGradients(scope, loss, List.of(w), true), null);

    try (InProcessCluster cluster =
            InProcessCluster.start(Map.of("ps", 1, "worker", WORKERS), StandardOps.registry());
        Session session = cluster.server("worker", 0).session(graph)) {
      session.run(Variables.initializer(scope));
      Random random = new Random(1);
      for (int i = 0; i < STEPS; i++) {
        Tensor[] points = points(random);
        session.run(Map.of(x, points[0], y, points[1]), train);
      }
      return session.fetch(w.read()).toFloats();
    }
  }

  /** Points near the line {@code y = 2 x - 1}; each row of the first tensor is {@code x, 1}. */
  private static Tensor[] points(Random random) {
    float[] x = new float[2 * BATCH];
    float[] y = new float[BATCH];
    for (int i = 0; i < BATCH; i++) {
      x[2 * i] = random.nextFloat(-1, 1);
      x[2 * i + 1] = 1;
      y[i] = 2 * x[2 * i] - 1 + .01f * (float) random.nextGaussian();
    }
    return new Tensor[] {Tensor.of(Shape.of(BATCH, 2), x), Tensor.of(Shape.of(BATCH, 1), y)};
  }
}
