package dev.millrace.cli;

import dev.millrace.cli.text.Json;
import java.io.PrintWriter;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Where a command prints, and whether a person or a program is to read it. */
final class Report {
  @Spec(Spec.Target.MIXEE)
  CommandSpec command;

  @Option(names = "--json", description = "Print JSON, for programs.")
  boolean json;

  /** What is printed here is the command's result. */
  PrintWriter out() {
    return command.commandLine().getOut();
  }

  /** Prints a value of maps, lists, strings and numbers. */
  void json(Object value) {
    out().println(Json.of(value));
  }
}
