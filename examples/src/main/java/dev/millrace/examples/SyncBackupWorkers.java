package dev.millrace.examples;

import dev.millrace.cluster.Server;
import dev.millrace.examples.mnist.MnistData;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.nn.Activations;
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
import dev.millrace.train.sync.SyncReplicasOptimizer;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.VariableScope;
import java.util.Map;

/**
 * A network with a hidden layer, trained synchronously by three workers of which one is a spare:
 * each step is made with the average of the first two gradients, and the slowest is not waited for.
 *
 * <pre>
 * opt = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.3),
 *     replicas_to_aggregate=2, total_num_replicas=3)
 * train_op = opt.minimize(loss, global_step=global_step)
 * sync_replicas_hook = opt.make_session_run_hook(is_chief)
 * with tf.train.MonitoredTrainingSession(master=server.target, is_chief=is_chief,
 *     hooks=[sync_replicas_hook, tf.train.StopAtStepHook(last_step=150)]) as sess:
 * </pre>
 */
public final class SyncBackupWorkers {
  private static final int STEPS = 150;
  private static final int SERVERS = 2;
  private static final int WORKERS = 3;
  private static final int AGGREGATED = 2;

  private SyncBackupWorkers() {}

  /** Trains as the task TF_CONFIG names, or as all of them; the chief prints the accuracy. */
  public static void main(String[] args) {
    System.out.printf("accuracy %.3f%n", accuracy());
  }

  static double accuracy() {
    return Tasks.run(Map.of("ps", SERVERS, "worker", WORKERS), SyncBackupWorkers::task);
  }

  private static double task(Server server) {
    int index = server.task().index();
    if (server.task().job().equals("ps")) {
      JobEnd.await(StandardOps.registry(), g -> server.session(g, "/job:ps"), index, WORKERS);
      return Double.NaN;
    }

    String self = "/job:worker/task:" + index;
    boolean chief = index == 0;
    Scope scope =
        Scope.of(StandardOps.newGraph()).withDevice(ReplicaDeviceSetter.of(SERVERS, self));
    VariableScope model = VariableScope.of(scope);
    Output x = Placeholder.of(scope, DType.FLOAT, Shape.of(-1, MnistData.PIXELS));
    Output y = Placeholder.of(scope, DType.INT64, Shape.of(-1));
    Output hidden = Dense.of(model, "hidden", x, 64, Activations::relu);
    Output logits = Dense.of(model, "logits", hidden, MnistData.CLASSES);
    Output loss = Losses.sparseSoftmaxCrossEntropy(scope, logits, y);
    Output accuracy = Metrics.accuracy(scope, logits, y);
    GraphVariable step = GlobalStep.of(model);
    SyncReplicasOptimizer optimizer =
        new SyncReplicasOptimizer(new GradientDescent(.3f), AGGREGATED, WORKERS);
    Node train = optimizer.minimize(scope, loss, step);

    MnistData.Batches batches = MnistData.train(null).batches(50, index);
    TrainingSettings settings =
        TrainingSettings.DEFAULT
            .withChief(chief)
            .withSaveEvery(null) // trains for seconds only
            .withHooks(
                optimizer.hook(chief),
                StopAtStepHook.at(step, STEPS),
                JobEnd.hook(scope, SERVERS, index));
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
