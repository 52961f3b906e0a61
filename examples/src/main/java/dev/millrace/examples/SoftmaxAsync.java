package dev.millrace.examples;

import dev.millrace.cluster.Server;
import dev.millrace.examples.mnist.MnistData;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.GlobalStep;
import dev.millrace.train.ReplicaDeviceSetter;
import dev.millrace.train.hook.StopAtStepHook;
import dev.millrace.train.job.JobEnd;
import dev.millrace.train.layers.Dense;
import dev.millrace.train.layers.Losses;
import dev.millrace.train.layers.Metrics;
import dev.millrace.train.optimizer.GradientDescent;
import dev.millrace.train.session.MonitoredTrainingSession;
import dev.millrace.train.session.TrainingSettings;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.VariableScope;
import java.util.Map;

/**
 * Softmax regression on MNIST, between-graph and asynchronous: every worker builds the same graph,
 * with the variables on the parameter server, and applies its gradients when it has them.
 *
 * <pre>
 * with tf.device(tf.train.replica_device_setter(
 *     worker_device="/job:worker/task:%d" % FLAGS.task_index, cluster=cluster)):
 *   ...
 *   train_op = tf.train.GradientDescentOptimizer(0.3).minimize(loss, global_step=global_step)
 * hooks = [tf.train.StopAtStepHook(last_step=400)]
 * with tf.train.MonitoredTrainingSession(master=server.target, is_chief=(FLAGS.task_index == 0),
 *                                        hooks=hooks) as mon_sess:
 *   while not mon_sess.should_stop():
 *     mon_sess.run(train_op, feed_dict={x: batch_x, y: batch_y})
 * </pre>
 */
public final class SoftmaxAsync {
  private static final int STEPS = 400;

  private SoftmaxAsync() {}

  /** Trains as the task TF_CONFIG names, or as all of them; the chief prints the accuracy. */
  public static void main(String[] args) {
    System.out.printf("accuracy %.3f%n", accuracy());
  }

  static double accuracy() {
    return Tasks.run(Map.of("ps", 1, "worker", 2), SoftmaxAsync::task);
  }

  /** What each process does; only the chief has a result. */
  private static double task(Server server) {
    int index = server.task().index();
    int workers = server.cluster().tasks("worker").size();
    if (server.task().job().equals("ps")) {
      // Python's server.join() never returns; this does when the chief is done.
      JobEnd.await(StandardOps.registry(), g -> server.session(g, "/job:ps"), index, workers);
      return Double.NaN;
    }

    String self = "/job:worker/task:" + index;
    Scope scope = Scope.of(StandardOps.newGraph()).withDevice(ReplicaDeviceSetter.of(1, self));
    VariableScope model = VariableScope.of(scope);
    Output x = Placeholder.of(scope, DType.FLOAT, Shape.of(-1, MnistData.PIXELS));
    Output y = Placeholder.of(scope, DType.INT64, Shape.of(-1));
    Output logits = Dense.of(model, "softmax", x, MnistData.CLASSES);
    Output loss = Losses.sparseSoftmaxCrossEntropy(scope, logits, y);
    Output accuracy = Metrics.accuracy(scope, logits, y);
    GraphVariable step = GlobalStep.of(model);
    Node train = new GradientDescent(.3f).minimize(scope, loss, step);

    MnistData.Batches batches = MnistData.train(null).batches(100, index);
    boolean chief = index == 0;
    TrainingSettings settings =
        TrainingSettings.DEFAULT
            .withChief(chief)
            .withSaveEvery(null) // trains for seconds only
            .withHooks(StopAtStepHook.at(step, STEPS), JobEnd.hook(scope, 1, index));
    // A worker needs the parameter server and itself, not the other workers.
    try (var session =
        MonitoredTrainingSession.start(scope, g -> server.session(g, "/job:ps", self), settings)) {
      session.loop(
          s -> {
            Tensor[] batch = batches.next();
            s.run(Map.of(x, batch[0], y, batch[1]), train);
          });
      MnistData test = MnistData.test(null);
      return chief
          ? session
              .raw()
              .fetch(accuracy, Map.of(x, test.images(0, 2000), y, test.labels(0, 2000)))
              .doubleValue()
          : Double.NaN;
    }
  }
}
