package dev.millrace.cli;

import dev.millrace.base.MillraceException;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;

/**
 * How the command line says what went wrong: one sentence on standard error, and a stack trace only
 * where it was asked for.
 */
final class Complaint {
  /** The work was begun and failed. */
  static final int FAILURE = 1;

  /** Something the user gave has to be corrected: a flag, a file, an address. */
  static final int WRONG_USE = 2;

  /** How every complaint begins. */
  static final String PREFIX = "millrace: ";

  /** The lines that name the nodes of a failed step. */
  private static final Pattern NODES = Pattern.compile("\\n\\t \\[\\[\\{\\{node [^\\n]*");

  private Complaint() {}

  /** A command that only has subcommands was run without one. */
  static CommandLine.ParameterException noSubcommand(CommandSpec spec) {
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
  static int wrongUse(CommandLine.ParameterException e, boolean verbose) {
    CommandLine line = e.getCommandLine();
    if (verbose) {
      e.printStackTrace(line.getErr());
    }
    String command =
        line.getCommandSpec()
            .qualifiedName()
            .replaceFirst("millrace", Matcher.quoteReplacement(Millrace.COMMAND));
    say(line, sentence(e.getMessage()) + suggestion(e) + " See " + command + " --help.");
    return WRONG_USE;
  }

  private static String sentence(String message) {
    String m = String.valueOf(message).strip();
    return m.endsWith(".") ? m : m + ".";
  }

  private static String suggestion(CommandLine.ParameterException e) {
    if (e instanceof CommandLine.UnmatchedArgumentException u) {
      List<String> close = u.getSuggestions();
      if (!close.isEmpty()) {
        return close.stream().limit(3).collect(Collectors.joining(", ", " Did you mean ", "?"));
      }
    }
    return "";
  }

  /** A command that was understood and did not succeed. */
  static int failed(Exception e, CommandLine line, boolean verbose) {
    if (verbose) {
      e.printStackTrace(line.getErr());
    }
    MillraceException m = MillraceException.of(e);
    String message = String.valueOf(m.getMessage());
    // Which node it was is for those who read the graph.
    say(line, verbose ? message : NODES.matcher(message).replaceAll(""));
    return code(m);
  }

  /** What a person can put right by other flags, files or addresses counts as wrong use. */
  private static int code(MillraceException e) {
    return switch (e.code()) {
      case INVALID_ARGUMENT, NOT_FOUND, ALREADY_EXISTS, DATA_LOSS, PERMISSION_DENIED -> WRONG_USE;
      default -> FAILURE;
    };
  }

  private static void say(CommandLine line, String text) {
    line.getErr().println(PREFIX + text);
    line.getErr().flush();
  }
}
