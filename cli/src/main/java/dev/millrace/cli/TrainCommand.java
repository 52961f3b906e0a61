package dev.millrace.cli;

import dev.millrace.cli.text.ErrorPrinter;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** Trains one of the bundled models. */
@Command(
    name = "train",
    description = "Train a bundled example.",
    subcommands = TrainMnist.class,
    footer = {"", "Example:", "  millrace train mnist"})
final class TrainCommand implements Runnable {
  @Spec CommandSpec spec;

  @Override
  public void run() {
    throw ErrorPrinter.noSubcommand(spec);
  }
}
