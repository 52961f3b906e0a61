package dev.millrace.cli;

import picocli.AutoComplete;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** Prints what a shell needs to complete commands and flags. */
@Command(
    name = "completion",
    description = "Print a completion script for bash and zsh.",
    footer = {"", "Example:", "  source <(millrace completion)"})
final class CompletionCommand implements Runnable {
  @Spec CommandSpec spec;

  @Override
  public void run() {
    spec.commandLine().getOut().println(AutoComplete.bash("millrace", spec.root().commandLine()));
  }
}
