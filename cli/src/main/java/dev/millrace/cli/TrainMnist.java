package dev.millrace.cli;

import dev.millrace.base.MillraceException;
import dev.millrace.cluster.ClusterSpec;
import dev.millrace.cluster.TaskId;
import dev.millrace.examples.mnist.AsyncTraining;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/**
 * Trains on MNIST. On its own it starts a whole cluster on this machine; with the flags of a
 * cluster it is one task of it.
 */
@Command(
    name = "mnist",
    description = "Train a digit classifier on a cluster, by default one on this machine.",
    mixinStandardHelpOptions = true,
    showDefaultValues = true,
    footer = {
      "",
      "Examples:",
      "  millrace train mnist",
      "  millrace train mnist --workers 3 --ps 2 --steps 6000",
      "One task per terminal:",
      "  millrace train mnist --ps_hosts localhost:2220 --worker_hosts localhost:2221 \\",
      "      --job_name ps --task_index 0",
      "  millrace train mnist --ps_hosts localhost:2220 --worker_hosts localhost:2221 \\",
      "      --job_name worker --task_index 0"
    })
final class TrainMnist implements Callable<Integer> {
  @Mixin ClusterFlags cluster;

  @Option(names = "--model", description = "softmax or mlp.")
  String model = "mlp";

  @Option(names = "--ps", description = "How many parameter servers to start.")
  int ps = 1;

  @Option(names = "--workers", description = "How many workers to start.")
  int workers = 2;

  @Option(
      names = {"--steps", "--train_steps"},
      description = "Steps to train, all workers together.")
  long steps = 3000;

  @Option(
      names = {"--batch-size", "--batch_size"},
      description = "Images per step.")
  int batchSize = 100;

  @Option(
      names = {"--learning-rate", "--learning_rate"},
      description = "Step size of the descent.")
  float learningRate = 0.2f;

  @Option(names = "--seed", description = "Where random numbers start.")
  long seed = 1;

  @Option(
      names = {"--data-dir", "--data_dir"},
      description = "A folder with the four IDX files; the bundled ones if not given.")
  Path dataDir;

  @Override
  public Integer call() throws Exception {
    if (ps < 1 || workers < 1 || steps < 1 || batchSize < 1) {
      throw MillraceException.invalid(
          "--ps, --workers, --steps and --batch-size must be at least 1.");
    }
    if (!cluster.given()) {
      return wholeCluster();
    }
    ClusterSpec spec = cluster.cluster();
    TaskId task = cluster.task();
    AsyncTraining training =
        new AsyncTraining(
            spec,
            new AsyncTraining.Settings(model, steps, batchSize, learningRate, seed, dataDir),
            System.out);
    switch (task.job()) {
      case "ps" -> training.serve(task.index());
      case "worker" -> {
        double accuracy = training.work(task.index());
        if (task.index() == 0) {
          System.out.printf(Locale.ROOT, "test accuracy %.2f %%%n", accuracy * 100);
        }
      }
      default ->
          throw MillraceException.invalid(
              "--job_name is '%s'; training knows ps and worker.", task.job());
    }
    return 0;
  }

  private int wholeCluster() throws Exception {
    List<String> shared = new ArrayList<>(List.of("--model", model));
    shared.addAll(List.of("--steps", Long.toString(steps)));
    shared.addAll(List.of("--batch-size", Integer.toString(batchSize)));
    shared.addAll(List.of("--learning-rate", Float.toString(learningRate)));
    shared.addAll(List.of("--seed", Long.toString(seed)));
    if (dataDir != null) {
      shared.addAll(List.of("--data-dir", dataDir.toString()));
    }
    System.out.printf(
        "Training %s on MNIST: %d ps, %d workers, asynchronous, %d steps of %d images.%n",
        model, ps, workers, steps, batchSize);
    try (LocalCluster local = LocalCluster.start(Map.of("ps", ps, "worker", workers), shared)) {
      return local.await();
    }
  }
}
