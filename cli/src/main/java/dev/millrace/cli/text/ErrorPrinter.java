package dev.millrace.cli.text;

import dev.millrace.base.Closest;
import dev.millrace.base.MillraceException;
import dev.millrace.base.config.CommandSettings;
import dev.millrace.base.config.Config;
import java.io.PrintWriter;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;

/**
 * How the command line says what went wrong: one sentence on standard error, and a stack trace only
 * where it was asked for.
 */
public final class ErrorPrinter {
  /** The work was begun and failed. */
  public static final int FAILURE = 1;

  /** Something the user gave has to be corrected: a flag, a file, an address. */
  public static final int WRONG_USE = 2;

  /** The job was told to stop before it was done, as a process that SIGTERM ends. */
  public static final int STOPPED = 143;

  /** How every complaint begins. */
  public static final String PREFIX = "millrace: ";

  /** The lines that name the nodes of a failed step. */
  private static final Pattern NODES = Pattern.compile("\\n\\t \\[\\[\\{\\{node [^\\n]*");

  private ErrorPrinter() {}

  /** What users type to run the command, which the scripts know. */
  public static String command() {
    return Config.ofProcess().get(CommandSettings.COMMAND_NAME);
  }

  /** A command that only has subcommands was run without one. */
  public static CommandLine.ParameterException noSubcommand(CommandSpec spec) {
    return new CommandLine.ParameterException(
        spec.commandLine(), "Say what to do: " + String.join(", ", visibleSubcommands(spec)) + ".");
  }

  private static List<String> visibleSubcommands(CommandSpec spec) {
    return spec.subcommands().entrySet().stream()
        .filter(e -> !e.getValue().getCommandSpec().usageMessage().hidden())
        .map(java.util.Map.Entry::getKey)
        .toList();
  }

  /** Flags that could not be understood. */
  public static int wrongUse(CommandLine.ParameterException e, boolean verbose) {
    CommandLine line = e.getCommandLine();
    if (verbose) {
      e.printStackTrace(line.getErr());
    }
    String command =
        line.getCommandSpec()
            .qualifiedName()
            .replaceFirst("millrace", Matcher.quoteReplacement(command()));
    String what =
        e instanceof CommandLine.UnmatchedArgumentException u
            ? unknown(line.getCommandSpec(), u.getUnmatched().getFirst())
            : sentence(named(line.getCommandSpec(), String.valueOf(e.getMessage())));
    say(line.getErr(), what + " See " + command + " --help.");
    return WRONG_USE;
  }

  private static String sentence(String message) {
    String m = message.strip();
    return m.endsWith(".") ? m : m + ".";
  }

  /** In words of users: flags by their first names, and no types of Java. */
  private static String named(CommandSpec spec, String message) {
    String m =
        message
            .replace("option option", "option")
            .replaceFirst("positional parameter at index \\d+ \\((\\w+)\\)", "$1")
            .replaceFirst("is not an? (int|long)$", "is not a whole number, or is too large")
            .replaceFirst("is not a (float|double)$", "is not a number");
    for (OptionSpec o : spec.options()) {
      m = m.replace("'" + o.longestName() + "'", "'" + o.names()[0] + "'");
    }
    return m;
  }

  private static String unknown(CommandSpec spec, String word) {
    if (word.startsWith("-")) {
      String flag = word.replaceFirst("=.*", "");
      return "There is no flag '" + flag + "'." + Closest.hint(flag, spec.optionsMap().keySet());
    }
    return spec.subcommands().isEmpty()
        ? "'" + word + "' is one word too many."
        : "There is no command '" + word + "'." + Closest.hint(word, visibleSubcommands(spec));
  }

  /** A command that was understood and did not succeed. */
  public static int failed(Exception e, CommandLine line, boolean verbose) {
    return failed(e, line.getErr(), verbose);
  }

  /** The same where there is no command line. */
  public static int failed(Throwable e, PrintWriter err, boolean verbose) {
    if (verbose) {
      e.printStackTrace(err);
    }
    MillraceException m = MillraceException.of(e);
    String message = String.valueOf(m.getMessage());
    // Which node it was is for those who read the graph.
    say(err, verbose ? message : NODES.matcher(message).replaceAll(""));
    return code(m);
  }

  /** What a person can put right by other flags, files or addresses counts as wrong use. */
  private static int code(MillraceException e) {
    return switch (e.code()) {
      case INVALID_ARGUMENT, NOT_FOUND, ALREADY_EXISTS, DATA_LOSS, PERMISSION_DENIED -> WRONG_USE;
      case CANCELLED -> STOPPED;
      default -> FAILURE;
    };
  }

  private static void say(PrintWriter err, String text) {
    err.println(PREFIX + text);
    err.flush();
  }
}
