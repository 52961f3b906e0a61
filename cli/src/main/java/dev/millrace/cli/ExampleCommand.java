package dev.millrace.cli;

import dev.millrace.cli.text.Table;
import dev.millrace.examples.Example;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Runs one of the example programs, or says which there are. */
@Command(
    name = "example",
    description = "Run one of the example programs; without a name, list them.",
    footer = {
      "",
      "Examples:",
      "  millrace example",
      "  millrace example hello",
      "One rank per process:",
      "  millrace launch -np 2 -- ./millrace example ring"
    })
final class ExampleCommand implements Callable<Integer> {
  @Spec CommandSpec spec;

  @Parameters(
      arity = "0..1",
      paramLabel = "NAME",
      description = "Which one: ${COMPLETION-CANDIDATES}.")
  Example example;

  @Override
  public Integer call() {
    if (example != null) {
      example.run();
      return 0;
    }
    Table table = new Table("example", "shows");
    for (Example e : Example.values()) {
      table.row(e.toString(), e.description());
    }
    table.print(spec.commandLine().getOut());
    return 0;
  }
}
