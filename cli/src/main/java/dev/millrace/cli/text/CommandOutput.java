package dev.millrace.cli.text;

import java.io.PrintWriter;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Where a command prints, and whether a person or a program is to read it. */
public final class CommandOutput {
  @Spec(Spec.Target.MIXEE)
  CommandSpec command;

  @Option(names = "--json", description = "Print JSON, for programs.")
  public boolean json;

  /** What is printed here is the command's result. */
  public PrintWriter out() {
    return command.commandLine().getOut();
  }

  /** Prints a value of maps, lists, strings and numbers. */
  public void json(Object value) {
    out().println(Json.of(value));
  }
}
