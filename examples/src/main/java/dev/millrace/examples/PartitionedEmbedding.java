package dev.millrace.examples;

import dev.millrace.cluster.InProcessCluster;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.math.Reduction;
import dev.millrace.ops.math.Unary;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.ReplicaDeviceSetter;
import dev.millrace.train.layers.Embedding;
import dev.millrace.train.layers.Losses;
import dev.millrace.train.optimizer.Adagrad;
import dev.millrace.train.variable.Initializers;
import dev.millrace.train.variable.PartitionedVariable;
import dev.millrace.train.variable.VariablePartitioner;
import dev.millrace.train.variable.VariableScope;
import dev.millrace.train.variable.Variables;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * A large table of vectors, cut into parts that lie on several parameter servers. Lookups happen
 * where the parts are, and gradients come back as the rows that were used: a step moves kilobytes
 * however large the table is. Learnt is which pairs of ids belong together.
 *
 * <pre>
 * with tf.device(tf.train.replica_device_setter(ps_tasks=2)):
 *   table = tf.get_variable("table", [200000, 32],
 *       partitioner=tf.fixed_size_partitioner(4), ...)
 * left = tf.nn.embedding_lookup(table, left_ids)
 * right = tf.nn.embedding_lookup(table, right_ids)
 * likeness = tf.sigmoid(tf.reduce_sum(left * right, axis=1))
 * train_op = tf.train.AdagradOptimizer(1.0).minimize(loss)
 * </pre>
 */
public final class PartitionedEmbedding {
  private static final int ROWS = 200_000;
  private static final int WIDTH = 32;
  private static final int PARTS = 4;
  private static final int BATCH = 256;
  private static final int STEPS = 200;

  /** How large the table is, how much of it a step reads, and the loss at both ends. */
  record Result(long tableBytes, long stepBytes, float firstLoss, float lastLoss) {}

  private PartitionedEmbedding() {}

  /** Prints the sizes and the losses. */
  public static void main(String[] args) {
    Result r = result();
    System.out.printf(
        "a table of %,d bytes, of which a step reads %,d; loss %.3f, then %.3f%n",
        r.tableBytes, r.stepBytes, r.firstLoss, r.lastLoss);
  }

  static Result result() {
    Graph graph = StandardOps.newGraph();
    graph.setSeed(1);
    // The parts go to the parameter servers in turn, all else to the worker.
    Scope scope = Scope.of(graph).withDevice(ReplicaDeviceSetter.of(2, "/job:worker/task:0"));
    PartitionedVariable table =
        VariableScope.of(scope)
            .partitioned(
                "table",
                DType.FLOAT,
                Shape.of(ROWS, WIDTH),
                Initializers.randomUniform(-.3, .3),
                VariablePartitioner.fixedSize(PARTS, 0));
    Output leftIds = Placeholder.of(scope, DType.INT64, Shape.of(BATCH));
    Output rightIds = Placeholder.of(scope, DType.INT64, Shape.of(BATCH));
    Output alike = Placeholder.of(scope, DType.FLOAT, Shape.of(BATCH));
    Output left = Embedding.lookup(scope, table, leftIds, Embedding.Spread.DIV);
    Output right = Embedding.lookup(scope, table, rightIds, Embedding.Spread.DIV);
    Output likeness =
        Unary.sigmoid(scope, Reduction.sum(scope, Arithmetic.mul(scope, left, right), 1));
    Output loss = Losses.meanSquaredError(scope, likeness, alike);
    Node train = new Adagrad(1f).minimize(scope, loss, null);

    try (InProcessCluster cluster =
            InProcessCluster.start(Map.of("ps", 2, "worker", 1), StandardOps.registry());
        Session session = cluster.server("worker", 0).session(graph)) {
      session.run(Variables.initializer(scope));
      Random random = new Random(1);
      float first = Float.NaN;
      float last = Float.NaN;
      for (int i = 0; i < STEPS; i++) {
        Tensor[] pairs = pairs(random);
        Map<Output, Tensor> feeds = Map.of(leftIds, pairs[0], rightIds, pairs[1], alike, pairs[2]);
        last = session.run(feeds, List.of(loss), List.of(train)).getFirst().floatValue();
        first = i == 0 ? last : first;
      }
      long rowBytes = WIDTH * (long) Float.BYTES;
      return new Result(ROWS * rowBytes, 2 * BATCH * rowBytes, first, last);
    }
  }

  /** Pairs among some ids spread over the table: alike if both are even or both are odd. */
  private static Tensor[] pairs(Random random) {
    long[] left = new long[BATCH];
    long[] right = new long[BATCH];
    float[] alike = new float[BATCH];
    for (int i = 0; i < BATCH; i++) {
      left[i] = random.nextInt(100) * 1999L;
      right[i] = random.nextInt(100) * 1999L;
      alike[i] = left[i] % 2 == right[i] % 2 ? 1 : 0;
    }
    return new Tensor[] {Tensor.vector(left), Tensor.vector(right), Tensor.vector(alike)};
  }
}
