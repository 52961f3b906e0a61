package dev.millrace.cli;

import dev.millrace.examples.Example;
import dev.millrace.examples.mnist.Method;
import dev.millrace.examples.mnist.Mode;
import dev.millrace.examples.mnist.Network;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.logging.Level;
import java.util.logging.Logger;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.ScopeType;

/** The command line: one class per subcommand. How it fails is {@link Complaint}'s. */
@Command(
    name = "millrace",
    description = "Distributed TensorFlow for the JVM.",
    mixinStandardHelpOptions = true,
    versionProvider = VersionLines.class,
    scope = ScopeType.INHERIT,
    usageHelpWidth = 100,
    subcommands = {
      TrainCommand.class,
      ServerCommand.class,
      LaunchCommand.class,
      KubernetesCommand.class,
      StatusCommand.class,
      DoctorCommand.class,
      CheckpointCommand.class,
      EventsCommand.class,
      GraphCommand.class,
      ExampleCommand.class,
      BenchCommand.class,
      CompletionCommand.class,
    },
    footer = {
      "",
      "Examples:",
      "  millrace train mnist",
      "  millrace server --ps_hosts localhost:2220 --worker_hosts localhost:2221 \\",
      "      --job_name ps --task_index 0",
      "  millrace launch -np 4 -H host1:2,host2:2 -- ./train.sh",
      "  millrace train mnist --help",
    },
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {
      "0:success",
      "1:the work failed",
      "2:wrong use: a flag, a file or an address has to be corrected",
      "130, 143:stopped by Ctrl-C, by SIGTERM",
    })
public final class Millrace implements Runnable {
  /** What users type to run it, which the scripts know. */
  static final String COMMAND = System.getProperty("millrace.command", "millrace");

  /** Held, as loggers nobody holds forget their level. */
  private static final Logger GRPC_LOG = Logger.getLogger("io.grpc");

  @Option(
      names = "--verbose",
      scope = ScopeType.INHERIT,
      description = "Show stack traces and more of the log.")
  boolean verbose;

  @CommandLine.Spec CommandLine.Model.CommandSpec spec;

  @Override
  public void run() {
    throw Complaint.noSubcommand(spec);
  }

  /** Runs the command and ends the process with its exit code. */
  public static void main(String[] args) {
    if (List.of(args).contains("--verbose")) {
      System.setProperty("org.slf4j.simpleLogger.defaultLogLevel", "debug");
    } else {
      // It logs stack traces of what our own messages already say.
      GRPC_LOG.setLevel(Level.OFF);
      // The progress line says it, and is torn by log lines.
      System.setProperty(
          "org.slf4j.simpleLogger.log.dev.millrace.train.hook.StepCounterHook", "warn");
      if (args.length > 0 && args[0].equals("example")) {
        // Its servers are in this process and of no interest outside.
        System.setProperty("org.slf4j.simpleLogger.log.dev.millrace.cluster.Server", "warn");
      }
      if (isLocalTraining(List.of(args))) {
        // Likewise of saves: the processes of a whole cluster keep their logs to themselves too.
        System.setProperty("org.slf4j.simpleLogger.log.dev.millrace.train", "warn");
      }
    }
    PrintWriter out = new PrintWriter(System.out, true);
    PrintWriter err = new PrintWriter(System.err, true);
    int code = run(out, err, args);
    out.flush();
    System.exit(code);
  }

  private static boolean isLocalTraining(List<String> args) {
    int mode = args.indexOf("--mode");
    return args.contains("train")
        && (args.contains("--mode=local")
            || mode >= 0 && mode + 1 < args.size() && args.get(mode + 1).equals("local"));
  }

  /** Runs the command in this process; returns its exit code. */
  static int run(PrintWriter out, PrintWriter err, String... args) {
    Millrace top = new Millrace();
    return commandLine(top)
        .setOut(out)
        .setErr(err)
        .setParameterExceptionHandler((e, unused) -> Complaint.wrongUse(e, top.verbose))
        .setExecutionExceptionHandler((e, line, unused) -> Complaint.failed(e, line, top.verbose))
        .execute(asFlag(args));
  }

  /** {@code help train} means {@code train --help}. */
  private static String[] asFlag(String[] args) {
    if (args.length == 0 || !args[0].equals("help")) {
      return args;
    }
    List<String> words = new ArrayList<>(List.of(args).subList(1, args.length));
    words.add("--help");
    return words.toArray(String[]::new);
  }

  /** The command with all its subcommands, to be run or only to understand arguments. */
  static CommandLine commandLine(Millrace top) {
    return new CommandLine(top)
        .registerConverter(Example.class, new Choice<>(Example.class))
        .registerConverter(Network.class, new Choice<>(Network.class))
        .registerConverter(Mode.class, new Choice<>(Mode.class))
        .registerConverter(Method.class, new Choice<>(Method.class))
        .setUsageHelpLongOptionsMaxWidth(34);
  }
}
