package dev.millrace.cli;

import dev.millrace.base.MillraceException;
import dev.millrace.base.ProcessEnvironment;
import dev.millrace.base.config.CommandSettings;
import dev.millrace.base.config.Config;
import dev.millrace.base.context.Context;
import dev.millrace.cli.cluster.AdmissionFlags;
import dev.millrace.cli.cluster.ClusterFlags;
import dev.millrace.cli.launch.ClusterPlan;
import dev.millrace.cli.launch.DashboardFlags;
import dev.millrace.cli.launch.JobDisplay;
import dev.millrace.cli.launch.JobObserver;
import dev.millrace.cli.launch.JobOutcome;
import dev.millrace.cli.launch.JobPlan;
import dev.millrace.cli.launch.Program;
import dev.millrace.cli.launch.RestartPolicy;
import dev.millrace.cli.launch.RingPlan;
import dev.millrace.cli.launch.SupervisedJob;
import dev.millrace.cli.text.ErrorPrinter;
import dev.millrace.cli.text.Terminal;
import dev.millrace.examples.mnist.Mnist;
import dev.millrace.examples.mnist.Network;
import dev.millrace.job.JobProcess;
import dev.millrace.job.JobResult;
import dev.millrace.job.Mode;
import dev.millrace.job.flags.Flag;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.Spec;

/**
 * Runs the job {@link Mnist}. On its own it starts all tasks as processes on this machine; with the
 * flags of a cluster, or under a launcher of ranks, it is one of them. The flags are the job's.
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
  private static final String LOG_DIR = "--log-dir";
  private static final String VERBOSE = "--verbose";
  private static final List<String> CLUSTER_FLAGS =
      List.of("--ps_hosts", "--worker_hosts", "--cluster", "--job_name", "--task_index");

  @Spec CommandSpec spec;

  @Mixin ClusterFlags cluster;
  @Mixin AdmissionFlags admission;

  @Mixin DashboardFlags page;

  @Option(names = "--resume", description = "Go on from the checkpoint in the log folder.")
  boolean resume;

  /** Adds the flags of the job to the command, where it has none of the name. */
  static void addFlags(CommandSpec command) {
    for (Flag flag : Mnist.job().flags()) {
      String name = "--" + flag.name();
      if (command.optionsMap().containsKey(name)) {
        continue;
      }
      List<String> names = new ArrayList<>(List.of(name));
      if (name.indexOf('-', 2) > 0) {
        names.add("--" + flag.name().replace('-', '_'));
      }
      if (name.equals("--steps")) {
        names.add("--train_steps");
      }
      OptionSpec.Builder option =
          OptionSpec.builder(names.toArray(String[]::new))
              .type(flag.type())
              .paramLabel(label(flag.type()))
              .description(flag.description() + usual(flag));
      if (flag.type().isEnum()) {
        option.completionCandidates(
            Stream.of(flag.type().getEnumConstants()).map(Object::toString).toList());
      }
      command.addOption(option.build());
    }
  }

  private static String label(Class<?> type) {
    return type == Integer.class || type == Long.class
        ? "N"
        : type == Path.class ? "FOLDER" : type == Double.class ? "RATE" : "NAME";
  }

  private static String usual(Flag flag) {
    String choices =
        flag.type().isEnum()
            ? " One of "
                + Stream.of(flag.type().getEnumConstants())
                    .map(Object::toString)
                    .collect(Collectors.joining(", "))
                + "."
            : "";
    Object standard = flag.name().equals("mode") ? Mode.ASYNC : flag.standard();
    return choices + (standard == null ? "" : " Default: " + standard);
  }

  @Override
  public Integer call() throws Exception {
    return admission.context("train").<Integer, Exception>call(this::train);
  }

  private int train() throws Exception {
    Mode mode = checkedMode();
    List<String> arguments = arguments(mode);
    JobProcess process =
        Mnist.job().process(Context.current().config(), arguments.toArray(String[]::new));
    if (process.isWhole()) {
      wholeJob(process, arguments);
    } else {
      report(process.run(System.out), spec.commandLine().getOut());
    }
    return 0;
  }

  private ParseResult parsed() {
    return spec.commandLine().getParseResult();
  }

  /** The mode, which a cluster that is described must be meant for. */
  private Mode checkedMode() {
    String given = parsed().matchedOptionValue("--mode", null);
    String text =
        given != null ? given : Config.ofProcess().find(CommandSettings.MODE).orElse("async");
    for (String flag : CLUSTER_FLAGS) {
      boolean hasServers = !text.equalsIgnoreCase("local") && !text.equalsIgnoreCase("ring");
      if (!hasServers && parsed().hasMatchedOption(flag)) {
        throw MillraceException.invalid(
            "--mode %s has no jobs and tasks: leave out %s%s.",
            text,
            flag,
            text.equalsIgnoreCase("ring") ? ", and start ranks with millrace launch" : "");
      }
    }
    return Mode.of(text);
  }

  /** What was given, as the job understands it. */
  private List<String> arguments(Mode mode) {
    List<String> all = new ArrayList<>(List.of("--mode=" + mode));
    for (Flag flag : Mnist.job().flags()) {
      String name = "--" + flag.name();
      Object value = parsed().matchedOptionValue(name, null);
      if (value == null || flag.name().equals("mode") || value instanceof Map) {
        continue;
      }
      all.add(name + "=" + (value instanceof Path p ? p.toAbsolutePath() : value));
    }
    if (!cluster.jobs().isEmpty()) {
      all.add(
          "--cluster="
              + cluster.jobs().entrySet().stream()
                  .map(e -> e.getKey() + "=" + e.getValue())
                  .collect(Collectors.joining(";")));
    }
    return all;
  }

  /** Prints the result, on the task that has it. */
  static void report(JobResult result, PrintWriter out) {
    if (result != null) {
      out.printf(Locale.ROOT, "test accuracy %.2f %%%n", result.metrics().get("accuracy") * 100);
      out.flush();
    }
  }

  private void wholeJob(JobProcess process, List<String> given) throws Exception {
    process.check();
    Path folder =
        LogFolder.choose(
            parsed().matchedOptionValue(LOG_DIR, null), resume, process.steps(), process::check);
    List<String> arguments = new ArrayList<>(given);
    arguments.removeIf(a -> a.startsWith(LOG_DIR + "="));
    arguments.add(LOG_DIR + "=" + folder.toAbsolutePath());
    PrintWriter out = spec.commandLine().getOut();
    out.printf(
        "Training %s on MNIST, %s: %s%n",
        process.flags().choice("model", Network.class), process.mode(), shape(process));
    out.flush();
    if (process.mode() == Mode.LOCAL && page.isGiven()) {
      throw MillraceException.invalid(
          "--dashboard shows the tasks of a job; --mode local has none. Use 'millrace run --mode"
              + " local', or another mode.");
    }
    if (process.mode() == Mode.LOCAL) {
      report(
          Mnist.job().process(Config.ofProcess(), arguments.toArray(String[]::new)).run(System.out),
          out);
    } else {
      startTasks(process, folder, arguments);
    }
    out.printf("checkpoint and summaries are in %s%n", folder);
    out.printf("  %s checkpoint show %s%n", ErrorPrinter.command(), folder);
    out.printf("  %s events %s%n", ErrorPrinter.command(), folder);
    out.printf("  tensorboard --logdir %s%n", folder);
  }

  private static String shape(JobProcess process) {
    int workers = process.workers();
    String tasks =
        switch (process.mode()) {
          case LOCAL -> "one process";
          case RING -> workers + (workers == 1 ? " rank" : " ranks");
          default -> process.ps() + " ps, " + workers + (workers == 1 ? " worker" : " workers");
        };
    return tasks + ", " + process.steps() + " steps of " + process.batchSize() + " images.";
  }

  private void startTasks(JobProcess process, Path folder, List<String> flags) throws Exception {
    boolean verbose = ((Millrace) spec.root().userObject()).verbose;
    List<String> arguments = new ArrayList<>();
    arguments.addAll(List.of("-cp", ProcessEnvironment.classPath(), MnistTask.class.getName()));
    flags.stream().filter(f -> !f.startsWith(VERBOSE)).forEach(arguments::add);
    if (verbose) {
      arguments.add(VERBOSE);
    }
    List<String> command = Program.java(arguments);
    Map<String, String> exported = new LinkedHashMap<>();
    boolean live = Terminal.isThere() || Config.ofProcess().get(CommandSettings.LIVE);
    exported.put(CommandSettings.LIVE.variable(), Boolean.toString(live && !verbose));
    boolean ring = process.mode() == Mode.RING;
    JobPlan plan =
        ring
            ? RingPlan.here(process.workers(), command, exported, page.isGiven())
            : ClusterPlan.here(
                process.ps(), process.workers(), command, exported, admission.ofJob());
    Path logs = folder.resolve("task-logs");
    CommandLine line = spec.commandLine();
    JobDisplay display =
        new JobDisplay(line.getOut(), line.getErr(), verbose, Terminal.hasColours(), logs);
    try (SupervisedJob job =
            new SupervisedJob(plan, RestartPolicy.ofMillrace(ring), List.of(), display);
        JobObserver observer = JobObserver.of(plan, page, display, logs)) {
      observer.announce(line.getOut());
      JobOutcome outcome = job.run();
      observer.summarize(line.getOut());
      outcome.check(logs);
    }
  }
}
