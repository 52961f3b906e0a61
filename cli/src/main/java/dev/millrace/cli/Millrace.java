package dev.millrace.cli;

import dev.millrace.base.config.Config;
import dev.millrace.cli.chaos.ChaosCommand;
import dev.millrace.cli.cluster.DashboardCommand;
import dev.millrace.cli.cluster.ServerCommand;
import dev.millrace.cli.cluster.StatusCommand;
import dev.millrace.cli.cluster.TopCommand;
import dev.millrace.cli.doctor.DoctorCommand;
import dev.millrace.cli.files.CheckpointCommand;
import dev.millrace.cli.files.EventsCommand;
import dev.millrace.cli.files.GraphCommand;
import dev.millrace.cli.k8s.KubernetesCommand;
import dev.millrace.cli.launch.LaunchCommand;
import dev.millrace.cli.launch.RunCommand;
import dev.millrace.cli.ops.OpsCommand;
import dev.millrace.cli.project.NewCommand;
import dev.millrace.cli.serving.PredictCommand;
import dev.millrace.cli.serving.ServeCommand;
import dev.millrace.cli.text.Choice;
import dev.millrace.cli.text.ErrorPrinter;
import dev.millrace.cli.text.VersionLines;
import dev.millrace.examples.Example;
import dev.millrace.examples.mnist.Method;
import dev.millrace.examples.mnist.Network;
import dev.millrace.job.Mode;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.logging.Level;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.bridge.SLF4JBridgeHandler;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.ScopeType;

/** The command line: one class per subcommand. How it fails is {@link ErrorPrinter}'s. */
@Command(
    name = "millrace",
    description = "Distributed TensorFlow for the JVM.",
    mixinStandardHelpOptions = true,
    versionProvider = VersionLines.class,
    scope = ScopeType.INHERIT,
    usageHelpWidth = 100,
    subcommands = {
      TrainCommand.class,
      NewCommand.class,
      ServerCommand.class,
      RunCommand.class,
      LaunchCommand.class,
      ChaosCommand.class,
      KubernetesCommand.class,
      CredentialsCommand.class,
      StatusCommand.class,
      TopCommand.class,
      DashboardCommand.class,
      DoctorCommand.class,
      ConfigCommand.class,
      CheckpointCommand.class,
      EventsCommand.class,
      GraphCommand.class,
      PredictCommand.class,
      ServeCommand.class,
      OpsCommand.class,
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
      "  millrace run --ps 1 --workers 2 -- -cp app.jar com.acme.Ctr --epochs 2",
      "  millrace new ctr",
      "  millrace launch -np 4 -H host1:2,host2:2 -- ./train.sh",
      "  millrace train mnist --help",
      "  millrace --jars my-ops.jar server --worker_hosts localhost:2221 --job_name worker",
    },
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {
      "0:success",
      "1:the work failed",
      "2:wrong use: a flag, a file or an address has to be corrected",
      "130, 143:stopped by Ctrl-C, by SIGTERM",
    })
public final class Millrace implements Runnable {
  /** Held, as loggers nobody holds forget their level. */
  private static final java.util.logging.Logger GRPC_LOG =
      java.util.logging.Logger.getLogger("io.grpc");

  @Option(
      names = "--verbose",
      scope = ScopeType.INHERIT,
      description = "Show stack traces and more of the log.")
  boolean verbose;

  @CommandLine.Spec CommandLine.Model.CommandSpec spec;

  @Option(
      names = "--jars",
      paramLabel = "CLASS_PATH",
      description =
          "Jars of your own, such as libraries of ops, for the class path. Comes before the"
              + " command. The variable MILLRACE_JARS does the same.")
  String jars;

  @Override
  public void run() {
    throw ErrorPrinter.noSubcommand(spec);
  }

  /** Runs the command and ends the process with its exit code. */
  public static void main(String[] args) {
    setUpLogs(List.of(args));
    PrintWriter out = new PrintWriter(System.out, true);
    PrintWriter err = new PrintWriter(System.err, true);
    int code = run(out, err, args);
    out.flush();
    System.exit(code);
  }

  /** Chooses what is logged, before anything is. */
  static void setUpLogs(List<String> args) {
    if (args.contains("--verbose")) {
      System.setProperty("org.slf4j.simpleLogger.defaultLogLevel", "debug");
    } else {
      // It logs stack traces of what our own messages already say.
      GRPC_LOG.setLevel(Level.OFF);
      // The progress line says it, and is torn by log lines.
      System.setProperty(
          "org.slf4j.simpleLogger.log.dev.millrace.train.hook.StepCounterHook", "warn");
      if (!args.isEmpty() && args.getFirst().equals("example")) {
        // Its servers are in this process and of no interest outside.
        System.setProperty("org.slf4j.simpleLogger.log.dev.millrace.cluster.Server", "warn");
      }
      if (isLocalTraining(args)) {
        // Hides log lines about saves, as whole clusters do for their processes.
        System.setProperty("org.slf4j.simpleLogger.log.dev.millrace.train", "warn");
      }
    }
    collectLogs();
  }

  /** Sends the lines of libraries that log by {@code java.util.logging} to our backend. */
  static void collectLogs() {
    SLF4JBridgeHandler.removeHandlersForRootLogger();
    SLF4JBridgeHandler.install();
  }

  private static boolean isLocalTraining(List<String> args) {
    int mode = args.indexOf("--mode");
    return args.contains("train")
        && (args.contains("--mode=local")
            || mode >= 0 && mode + 1 < args.size() && args.get(mode + 1).equals("local"));
  }

  /** Runs the command in this process; returns its exit code. */
  static int run(PrintWriter out, PrintWriter err, String... args) {
    return run(Config.ofProcess(), out, err, args);
  }

  /** Runs the command if {@code config}, the settings of this process, can be used. */
  static int run(Config config, PrintWriter out, PrintWriter err, String... args) {
    if (args.length > 0 && args[0].startsWith("--jars")) {
      // The script puts them on the class path and drops the option; here it is too late.
      err.println("millrace: --jars needs the millrace script; with java itself, use -cp.");
      return 2;
    }
    Millrace top = new Millrace();
    return commandLine(top)
        .setOut(out)
        .setErr(err)
        .setParameterExceptionHandler((e, _) -> ErrorPrinter.wrongUse(e, top.verbose))
        .setExecutionExceptionHandler((e, line, _) -> ErrorPrinter.failed(e, line, top.verbose))
        .setExecutionStrategy(parsed -> execute(config, parsed))
        .execute(asFlag(args));
  }

  /** The command that lists the settings runs whatever they are. */
  private static int execute(Config config, CommandLine.ParseResult parsed) {
    if (parsed.hasSubcommand()
        && parsed.subcommand().commandSpec().userObject() instanceof ConfigCommand list) {
      list.process = config;
    } else {
      if (!config.problems().isEmpty()) {
        return ErrorPrinter.failed(
            config.problems().getFirst(), parsed.commandSpec().commandLine(), false);
      }
      // Not a field: a logger must not be made before main has set its levels.
      Logger log = LoggerFactory.getLogger(Millrace.class);
      config.unknown().forEach(u -> log.warn("{}", u));
    }
    return new CommandLine.RunLast().execute(parsed);
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
  public static CommandLine commandLine(Millrace top) {
    CommandLine line = new CommandLine(top);
    TrainMnist.addFlags(
        line.getSubcommands().get("train").getSubcommands().get("mnist").getCommandSpec());
    return line.registerConverter(Example.class, new Choice<>(Example.class))
        .registerConverter(Network.class, new Choice<>(Network.class))
        .registerConverter(Mode.class, new Choice<>(Mode.class))
        .registerConverter(Method.class, new Choice<>(Method.class))
        .setUsageHelpLongOptionsMaxWidth(34);
  }
}
