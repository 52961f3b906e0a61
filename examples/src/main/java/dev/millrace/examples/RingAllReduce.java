package dev.millrace.examples;

import dev.millrace.collective.Ring;
import dev.millrace.collective.reduce.ReduceOp;
import dev.millrace.examples.mnist.MnistData;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ring.DistributedOptimizer;
import dev.millrace.ring.LearningRateScaling;
import dev.millrace.ring.MetricAverage;
import dev.millrace.ring.RingOps;
import dev.millrace.ring.RingSettings;
import dev.millrace.runtime.LocalSession;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.GlobalStep;
import dev.millrace.train.hook.StopAtStepHook;
import dev.millrace.train.layers.Dense;
import dev.millrace.train.layers.Losses;
import dev.millrace.train.layers.Metrics;
import dev.millrace.train.optimizer.GradientDescent;
import dev.millrace.train.session.MonitoredTrainingSession;
import dev.millrace.train.session.TrainingSettings;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.VariableScope;
import java.util.List;
import java.util.Map;

/**
 * Training without parameter servers: every rank has all variables and the gradients are averaged
 * around a ring while the backward pass still runs. Under {@code millrace launch} or {@code mpirun}
 * this is one rank; alone it runs two, as threads.
 *
 * <pre>
 * hvd.init()
 * hvd.allreduce(tf.constant([rank, 1.]), average=False)
 * opt = hvd.DistributedOptimizer(tf.train.GradientDescentOptimizer(0.2 * hvd.size()))
 * train_op = opt.minimize(loss, global_step=global_step)
 * hooks = [hvd.BroadcastGlobalVariablesHook(0), tf.train.StopAtStepHook(last_step=200)]
 * with tf.train.MonitoredTrainingSession(hooks=hooks) as mon_sess:
 *   while not mon_sess.should_stop():
 *     mon_sess.run(train_op, feed_dict={x: batch_x, y: batch_y})
 * </pre>
 */
public final class RingAllReduce {
  private static final int STEPS = 200;

  /** What a rank ends with: a sum over all ranks, and the accuracy, averaged over all ranks. */
  record Result(float[] sum, double accuracy) {}

  private RingAllReduce() {}

  /** Prints what each rank of this process ends with. */
  public static void main(String[] args) {
    for (Result r : results()) {
      System.out.printf("sums %.0f and %.0f, accuracy %.3f%n", r.sum[0], r.sum[1], r.accuracy);
    }
  }

  static List<Result> results() {
    return Tasks.ranks(2, RingAllReduce::rank);
  }

  private static Result rank(Ring ring) {
    // Tensors are matched between ranks by name, so ranks may submit in any order.
    Tensor sum = ring.allReduce("hello", Tensor.vector(ring.rank(), 1f), ReduceOp.SUM);

    Scope scope = Scope.of(RingOps.newGraph(ring));
    VariableScope model = VariableScope.of(scope);
    Output x = Placeholder.of(scope, DType.FLOAT, Shape.of(-1, MnistData.PIXELS));
    Output y = Placeholder.of(scope, DType.INT64, Shape.of(-1));
    Output logits = Dense.of(model, "softmax", x, MnistData.CLASSES);
    Output loss = Losses.sparseSoftmaxCrossEntropy(scope, logits, y);
    Output accuracy = Metrics.accuracy(scope, logits, y);
    GraphVariable step = GlobalStep.of(model);
    GradientDescent descent = new GradientDescent(LearningRateScaling.scaled(ring, .2f));
    Node train = new DistributedOptimizer(ring, descent).minimize(scope, loss, step);

    MnistData.Batches batches = MnistData.train(null).batches(100, ring.rank());
    // RingSettings adds the broadcast of rank 0's variables.
    TrainingSettings settings =
        RingSettings.of(ring, scope, TrainingSettings.DEFAULT)
            .withSaveEvery(null) // trains for seconds only
            .withHooks(StopAtStepHook.at(step, STEPS));
    try (var session = MonitoredTrainingSession.start(scope, LocalSession::new, settings)) {
      session.loop(
          s -> {
            Tensor[] batch = batches.next();
            s.run(Map.of(x, batch[0], y, batch[1]), train);
          });
      MnistData test = MnistData.test(null);
      int share = 1000;
      int from = ring.rank() * share;
      double own =
          session
              .raw()
              .fetch(accuracy, Map.of(x, test.images(from, share), y, test.labels(from, share)))
              .doubleValue();
      return new Result(sum.toFloats(), MetricAverage.of(ring, "accuracy", own));
    }
  }
}
