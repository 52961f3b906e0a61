package dev.millrace.cli;

import picocli.CommandLine;
import picocli.CommandLine.Command;

/** Trains one of the bundled models. */
@Command(
    name = "train",
    description = "Train a bundled example.",
    mixinStandardHelpOptions = true,
    subcommands = TrainMnist.class)
final class TrainCommand implements Runnable {
  @CommandLine.Spec CommandLine.Model.CommandSpec spec;

  @Override
  public void run() {
    throw new CommandLine.ParameterException(
        spec.commandLine(), "Say what to train: mnist. See millrace train --help.");
  }
}
