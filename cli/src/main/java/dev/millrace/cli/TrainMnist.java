package dev.millrace.cli;

import dev.millrace.base.MillraceException;
import dev.millrace.base.ProcessEnvironment;
import dev.millrace.base.config.CommandSettings;
import dev.millrace.base.config.Config;
import dev.millrace.base.config.RankSettings;
import dev.millrace.cli.cluster.ClusterFlags;
import dev.millrace.cli.launch.ClusterPlan;
import dev.millrace.cli.launch.JobDisplay;
import dev.millrace.cli.launch.JobPlan;
import dev.millrace.cli.launch.Program;
import dev.millrace.cli.launch.RestartPolicy;
import dev.millrace.cli.launch.RingPlan;
import dev.millrace.cli.launch.SupervisedJob;
import dev.millrace.cli.text.ErrorPrinter;
import dev.millrace.cli.text.Terminal;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.collective.Ring;
import dev.millrace.collective.member.RankConfig;
import dev.millrace.examples.mnist.Method;
import dev.millrace.examples.mnist.MnistData;
import dev.millrace.examples.mnist.MnistTraining;
import dev.millrace.examples.mnist.Network;
import dev.millrace.job.Mode;
import dev.millrace.job.report.Progress;
import dev.millrace.train.session.TrainingSettings;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/**
 * Trains on MNIST. On its own it starts a whole cluster on this machine; with the flags of a
 * cluster, or under a launcher of ranks, it is one task of it.
 */
@Command(
    name = "mnist",
    description = "Train a digit classifier on a cluster, by default one on this machine.",
    footer = {
      "",
      "Examples:",
      "  millrace train mnist",
      "  millrace train mnist --model cnn --mode sync --workers 3 --backup-workers 1 --ps 2",
      "  millrace train mnist --mode ring --workers 4",
      "One task per terminal:",
      "  millrace train mnist --ps_hosts localhost:2220 --worker_hosts localhost:2221 \\",
      "      --job_name ps --task_index 0",
      "  millrace train mnist --ps_hosts localhost:2220 --worker_hosts localhost:2221 \\",
      "      --job_name worker --task_index 0"
    })
final class TrainMnist implements Callable<Integer> {
  private static final int TRAIN_IMAGES = 60_000;
  private static final List<String> CLUSTER_FLAGS =
      List.of("--ps_hosts", "--worker_hosts", "--cluster", "--job_name", "--task_index");

  @Spec CommandSpec spec;

  @Mixin ClusterFlags cluster;

  @Option(
      names = "--model",
      description = "The network: ${COMPLETION-CANDIDATES}. Default: ${DEFAULT-VALUE}")
  Network model = Network.MLP;

  @Option(
      names = "--mode",
      description = "How tasks train together: ${COMPLETION-CANDIDATES}. Default: ${DEFAULT-VALUE}")
  Mode mode = usualMode();

  @Option(
      names = "--optimizer",
      description =
          "How the loss is made smaller: ${COMPLETION-CANDIDATES}. Default: ${DEFAULT-VALUE}")
  Method optimizer = Method.ADAM;

  @Option(
      names = "--ps",
      paramLabel = "N",
      description = "How many parameter servers to start. Default: ${DEFAULT-VALUE}")
  int ps = 1;

  @Option(
      names = "--workers",
      paramLabel = "N",
      description = "How many workers to start. Default: ${DEFAULT-VALUE}")
  int workers = 2;

  @Option(
      names = {"--backup-workers", "--backup_workers"},
      paramLabel = "N",
      description = "In sync mode, how many of them a step does not wait for. Default: 0")
  int backupWorkers;

  @Option(
      names = {"--staleness-bound", "--staleness_bound"},
      paramLabel = "N",
      description =
          "In bounded mode, how many steps a worker may be ahead. Default: ${DEFAULT-VALUE}")
  int bound = 4;

  @Option(
      names = {"--steps", "--train_steps"},
      paramLabel = "N",
      description = "Global steps to train, instead of --epochs.")
  Long steps;

  @Option(
      names = "--epochs",
      paramLabel = "N",
      description =
          "Passes over the training images. Default: what suits the model, 5 for cnn, else 10")
  Integer epochs;

  @Option(
      names = {"--batch-size", "--batch_size"},
      paramLabel = "N",
      description = "Images per step and worker. Default: ${DEFAULT-VALUE}")
  int batchSize = 100;

  @Option(
      names = {"--learning-rate", "--learning_rate"},
      paramLabel = "RATE",
      description =
          "Step size of the descent in the beginning, which falls to 0 towards the end; what suits"
              + " the optimizer if not given.")
  Float learningRate;

  @Option(names = "--seed", description = "Where random numbers start. Default: ${DEFAULT-VALUE}")
  long seed = 1;

  @Option(
      names = {"--data-dir", "--data_dir"},
      paramLabel = "FOLDER",
      description = "A folder with the four IDX files; the bundled ones if not given.")
  Path dataDir;

  @Option(
      names = {"--log-dir", "--log_dir"},
      paramLabel = "FOLDER",
      description =
          "Where checkpoints and summaries go; a new folder in millrace-logs if a whole"
              + " cluster is started, else nowhere.")
  Path logDir;

  @Option(
      names = {"--step-timeout", "--step_timeout"},
      paramLabel = "SECONDS",
      description =
          "Time limit of a step, including waits for other tasks; training fails beyond it. 0 for"
              + " no limit. Default: ${DEFAULT-VALUE}")
  int stepTimeout = 600;

  @Option(
      names = {"--save-every", "--save_every"},
      paramLabel = "SECONDS",
      description = "How often the chief saves a checkpoint. Default: ${DEFAULT-VALUE}")
  long saveEvery = TrainingSettings.DEFAULT.saveEvery().toSeconds();

  @Option(names = "--resume", description = "Go on from the checkpoint in the log folder.")
  boolean resume;

  @Option(names = "--live", hidden = true)
  boolean live;

  @Override
  public Integer call() throws Exception {
    checkPlace();
    countTasks();
    check();
    if (mode == Mode.RING && isRank()) {
      try (Ring ring = Ring.init()) {
        report(ring.rank() == 0, asRank(ring));
      }
    } else if (mode.hasServers() && cluster.isEvaluator()) {
      report(true, training().evaluate());
    } else if (mode.hasServers() && cluster.given()) {
      task(cluster.task());
    } else {
      wholeJob();
    }
    return 0;
  }

  /** As one task of a cluster, or one rank of a ring, the others are as many as there are. */
  private void countTasks() {
    if (mode == Mode.RING && isRank()) {
      workers = RankConfig.fromEnvironment().size();
    } else if (mode.hasServers() && cluster.given()) {
      ClusterSpec spec = cluster.cluster();
      spec.checkTrains();
      ps = spec.tasks("ps").size();
      workers = spec.replicas().size();
    }
  }

  /** What {@code millrace run} says, in case there is no flag. */
  private static Mode usualMode() {
    return Config.ofProcess()
        .find(CommandSettings.MODE)
        .map(m -> Mode.valueOf(m.toUpperCase(Locale.ROOT)))
        .orElse(Mode.ASYNC);
  }

  private boolean isGiven(String flag) {
    return spec.commandLine().getParseResult().hasMatchedOption(flag);
  }

  private static void checkPositive(String flag, long value) {
    if (value < 1) {
      throw MillraceException.invalid("%s is %d; it must be at least 1.", flag, value);
    }
  }

  /** A cluster that is described must be meant, and this process must have a place in it. */
  private void checkPlace() {
    if (mode.hasServers()) {
      if (!cluster.given() && cluster.hasCluster()) {
        throw MillraceException.invalid(
            "The cluster is given, but not which task of it this process is: add --job_name and"
                + " --task_index, or leave the cluster out to have a whole one started here.");
      }
      return;
    }
    for (String flag : CLUSTER_FLAGS) {
      if (isGiven(flag)) {
        throw MillraceException.invalid(
            "--mode %s has no jobs and tasks: leave out %s%s.",
            mode, flag, mode == Mode.RING ? ", and start ranks with millrace launch" : "");
      }
    }
  }

  private void check() {
    if (mode == Mode.LOCAL && (isGiven("--ps") || isGiven("--workers"))) {
      throw MillraceException.invalid(
          "--mode local trains in one process: leave out --ps and --workers, or use another mode.");
    }
    if (mode == Mode.RING && isGiven("--ps")) {
      throw MillraceException.invalid("--mode ring has no parameter servers: leave out --ps.");
    }
    checkPositive("--ps", ps);
    checkPositive("--workers", workers);
    checkPositive("--batch-size", batchSize);
    checkPositive("--save-every", saveEvery);
    checkPositive("--steps", steps == null ? 1 : steps);
    checkPositive("--epochs", epochs == null ? 1 : epochs);
    if (backupWorkers < 0 || backupWorkers > 0 && mode != Mode.SYNC || backupWorkers >= workers) {
      throw MillraceException.invalid(
          "--backup-workers is %d; only --mode sync has them, and at least one of the %d workers"
              + " must be waited for.",
          backupWorkers, workers);
    }
    if (stepTimeout < 0) {
      throw MillraceException.invalid(
          "--step-timeout is %d; it must be at least 1, or 0 for no limit.", stepTimeout);
    }
    if (bound < 0) {
      throw MillraceException.invalid("--staleness-bound is %d; it must be at least 0.", bound);
    }
    if (!(learningRate() > 0) || Float.isInfinite(learningRate())) {
      throw MillraceException.invalid(
          "--learning-rate is %s; it must be a number above 0.", learningRate());
    }
    if (batchSize > TRAIN_IMAGES / 2) {
      throw MillraceException.invalid(
          "--batch-size is %d, which is too large for %d images.", batchSize, TRAIN_IMAGES);
    }
    if (epochs != null && steps != null) {
      throw MillraceException.invalid("Give --steps or --epochs, not both.");
    }
    if (steps == null) {
      int together = mode == Mode.SYNC || mode == Mode.RING ? workers - backupWorkers : 1;
      long passes = epochs == null ? model.usualEpochs() : epochs;
      long images = dataDir == null ? TRAIN_IMAGES : MnistData.train(dataDir).size();
      steps = Math.max(1, passes * images / batchSize / together);
    }
  }

  /**
   * Whether a launcher has started this process as a rank. One alone counts if it was ours: Slurm
   * has its variables in every shell of a job.
   */
  private static boolean isRank() {
    return RankConfig.fromEnvironment().size() > 1
        || Config.ofProcess().find(RankSettings.RANK).isPresent();
  }

  private MnistTraining training() {
    return new MnistTraining(
        new MnistTraining.Settings(
            model,
            optimizer,
            mode,
            steps,
            batchSize,
            learningRate(),
            seed,
            workers,
            backupWorkers,
            bound,
            dataDir,
            logDir,
            stepTimeout == 0 ? null : Duration.ofSeconds(stepTimeout),
            Duration.ofSeconds(saveEvery)),
        new Progress(System.out, steps, live || Terminal.isThere()));
  }

  private double asRank(Ring ring) {
    try {
      return training().rank(ring);
    } catch (RuntimeException e) {
      ring.abort(e);
      throw e;
    }
  }

  private void task(TaskId task) {
    switch (task.job()) {
      case "ps" -> training().serve(cluster.cluster(), task.index());
      case "worker", "chief", "master" -> {
        ClusterSpec spec = cluster.cluster();
        report(task.equals(spec.replicas().getFirst()), training().work(spec, task));
      }
      default ->
          throw MillraceException.invalid(
              "This task is of job '%s'; training knows chief (or master), worker, ps and"
                  + " evaluator.",
              task.job());
    }
  }

  private void report(boolean chief, double accuracy) {
    if (chief) {
      PrintWriter out = spec.commandLine().getOut();
      out.printf(Locale.ROOT, "test accuracy %.2f %%%n", accuracy * 100);
      out.flush();
    }
  }

  private void wholeJob() throws Exception {
    MnistData.check(dataDir, batchSize);
    logDir = LogFolder.choose(logDir, resume, steps, training()::check);
    PrintWriter out = spec.commandLine().getOut();
    out.printf("Training %s on MNIST, %s: %s%n", model, mode, shape());
    out.flush();
    if (mode == Mode.LOCAL) {
      report(true, training().local());
    } else {
      startTasks();
    }
    out.printf("checkpoint and summaries are in %s%n", logDir);
    out.printf("  %s checkpoint show %s%n", ErrorPrinter.command(), logDir);
    out.printf("  %s events %s%n", ErrorPrinter.command(), logDir);
    out.printf("  tensorboard --logdir %s%n", logDir);
  }

  private String shape() {
    String tasks =
        switch (mode) {
          case LOCAL -> "one process";
          case RING -> workers + (workers == 1 ? " rank" : " ranks");
          default -> ps + " ps, " + workers + (workers == 1 ? " worker" : " workers");
        };
    return tasks + ", " + steps + " steps of " + batchSize + " images.";
  }

  private void startTasks() throws Exception {
    boolean verbose = ((Millrace) spec.root().userObject()).verbose;
    List<String> arguments = new ArrayList<>();
    arguments.addAll(List.of("-cp", ProcessEnvironment.classPath(), Millrace.class.getName()));
    arguments.addAll(sharedFlags(verbose));
    List<String> command = Program.java(arguments);
    boolean ring = mode == Mode.RING;
    JobPlan plan = ring ? RingPlan.here(workers, command) : ClusterPlan.here(ps, workers, command);
    Path logs = logDir.resolve("task-logs");
    CommandLine line = spec.commandLine();
    JobDisplay display =
        new JobDisplay(line.getOut(), line.getErr(), verbose, Terminal.hasColours(), logs);
    try (SupervisedJob job =
        new SupervisedJob(plan, RestartPolicy.ofMillrace(ring), List.of(), display)) {
      job.run().check(logs);
    }
  }

  private List<String> sharedFlags(boolean verbose) {
    List<String> flags = new ArrayList<>(List.of("train", "mnist"));
    flags.addAll(List.of("--model", model.toString(), "--mode", mode.toString()));
    flags.addAll(List.of("--optimizer", optimizer.toString()));
    flags.addAll(List.of("--workers", Integer.toString(workers)));
    flags.addAll(List.of("--backup-workers", Integer.toString(backupWorkers)));
    flags.addAll(List.of("--staleness-bound", Integer.toString(bound)));
    flags.addAll(List.of("--steps", Long.toString(steps)));
    flags.addAll(List.of("--batch-size", Integer.toString(batchSize)));
    flags.addAll(List.of("--learning-rate", Float.toString(learningRate())));
    flags.addAll(List.of("--seed", Long.toString(seed)));
    flags.addAll(List.of("--step-timeout", Integer.toString(stepTimeout)));
    flags.addAll(List.of("--save-every", Long.toString(saveEvery)));
    flags.addAll(List.of("--log-dir", logDir.toAbsolutePath().toString()));
    if (dataDir != null) {
      flags.addAll(List.of("--data-dir", dataDir.toAbsolutePath().toString()));
    }
    if (Terminal.isThere()) {
      flags.add("--live");
    }
    if (verbose) {
      flags.add("--verbose");
    }
    return flags;
  }

  private float learningRate() {
    return learningRate == null ? optimizer.usualRate() : learningRate;
  }
}
