package dev.millrace.cli;

import dev.millrace.base.MillraceException;
import dev.millrace.cluster.ClusterSpec;
import dev.millrace.cluster.TaskId;
import dev.millrace.examples.mnist.AsyncTraining;
import dev.millrace.examples.mnist.Method;
import dev.millrace.examples.mnist.MnistData;
import dev.millrace.examples.mnist.Network;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/**
 * Trains on MNIST. On its own it starts a whole cluster on this machine; with the flags of a
 * cluster it is one task of it.
 */
@Command(
    name = "mnist",
    description = "Train a digit classifier on a cluster, by default one on this machine.",
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
  @Spec CommandSpec spec;
  @Mixin ClusterFlags cluster;

  @Option(names = "--model", description = "The network: ${COMPLETION-CANDIDATES}.")
  Network model = Network.MLP;

  @Option(
      names = "--optimizer",
      description = "How the loss is made smaller: ${COMPLETION-CANDIDATES}.")
  Method optimizer = Method.SGD;

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
      paramLabel = "RATE",
      description = "Step size of the descent; what suits the optimizer if not given.")
  Float learningRate;

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
            new AsyncTraining.Settings(
                model, optimizer, steps, batchSize, learningRate(), seed, dataDir),
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
    MnistData.check(dataDir);
    PrintWriter out = spec.commandLine().getOut();
    out.printf(
        "Training %s on MNIST: %d ps, %d workers, asynchronous, %d steps of %d images.%n",
        model, ps, workers, steps, batchSize);
    out.flush();
    boolean verbose = ((Millrace) spec.root().userObject()).verbose;
    try (HeldPorts ports = HeldPorts.take(ps + workers);
        LocalCluster local = new LocalCluster(verbose ? spec.commandLine().getErr() : null)) {
      List<String> shared = sharedFlags(ports.addresses(), verbose);
      for (int i = 0; i < ps; i++) {
        local.start("ps/" + i, with(shared, "ps", i), Map.of(), false);
      }
      for (int i = 0; i < workers; i++) {
        local.start("worker/" + i, with(shared, "worker", i), Map.of(), i == 0);
      }
      local.await();
    }
    return 0;
  }

  private List<String> sharedFlags(List<String> addresses, boolean verbose) {
    List<String> flags = new ArrayList<>(List.of("train", "mnist", "--model", model.toString()));
    flags.addAll(List.of("--ps_hosts", String.join(",", addresses.subList(0, ps))));
    flags.addAll(
        List.of("--worker_hosts", String.join(",", addresses.subList(ps, addresses.size()))));
    flags.addAll(List.of("--optimizer", optimizer.toString()));
    flags.addAll(List.of("--steps", Long.toString(steps)));
    flags.addAll(List.of("--batch-size", Integer.toString(batchSize)));
    flags.addAll(List.of("--learning-rate", Float.toString(learningRate())));
    flags.addAll(List.of("--seed", Long.toString(seed)));
    if (dataDir != null) {
      flags.addAll(List.of("--data-dir", dataDir.toString()));
    }
    if (verbose) {
      flags.add("--verbose");
    }
    return flags;
  }

  private float learningRate() {
    return learningRate == null ? optimizer.usualRate() : learningRate;
  }

  private static List<String> with(List<String> shared, String job, int index) {
    List<String> all = new ArrayList<>(shared);
    all.addAll(List.of("--job_name", job, "--task_index", Integer.toString(index)));
    return all;
  }
}
