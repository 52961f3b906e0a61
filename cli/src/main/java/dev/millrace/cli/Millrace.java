package dev.millrace.cli;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.ScopeType;

/** The command line. Exit codes: 0 success, 1 failure, 2 wrong use. */
@Command(
    name = "millrace",
    description = "Distributed TensorFlow for the JVM.",
    mixinStandardHelpOptions = true,
    versionProvider = Version.class,
    subcommands = {ServerCommand.class, TrainCommand.class},
    footer = {
      "",
      "Examples:",
      "  millrace train mnist",
      "  millrace server --ps_hosts localhost:2220 --worker_hosts localhost:2221 \\",
      "      --job_name ps --task_index 0",
      "",
      "Exit codes: 0 success, 1 failure, 2 wrong use."
    })
public final class Millrace implements Runnable {
  @Option(
      names = "--verbose",
      scope = ScopeType.INHERIT,
      description = "Show stack traces and more of the log.")
  boolean verbose;

  @CommandLine.Spec CommandLine.Model.CommandSpec spec;

  @Override
  public void run() {
    throw new CommandLine.ParameterException(
        spec.commandLine(), "Say what to do: train or server. See millrace --help.");
  }

  public static void main(String[] args) {
    for (String a : args) {
      if (a.equals("--verbose")) {
        System.setProperty("org.slf4j.simpleLogger.defaultLogLevel", "debug");
      }
    }
    Millrace top = new Millrace();
    int code =
        new CommandLine(top)
            .setExecutionExceptionHandler((e, line, result) -> report(e, top.verbose))
            .setParameterExceptionHandler(Millrace::wrongUse)
            .execute(args);
    System.exit(code);
  }

  private static int wrongUse(CommandLine.ParameterException e, String[] args) {
    System.err.println("millrace: " + e.getMessage());
    return 2;
  }

  /** One sentence; what a person can put right by other flags counts as wrong use. */
  private static int report(Exception e, boolean verbose) {
    if (verbose) {
      e.printStackTrace();
    }
    MillraceException m = MillraceException.of(e);
    System.err.println("millrace: " + m.getMessage());
    return switch (m.code()) {
      case INVALID_ARGUMENT, NOT_FOUND, ALREADY_EXISTS, DATA_LOSS -> 2;
      default -> m.code() == Code.OK ? 0 : 1;
    };
  }
}
