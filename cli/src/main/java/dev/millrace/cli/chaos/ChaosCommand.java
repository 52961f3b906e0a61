package dev.millrace.cli.chaos;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Platform;
import dev.millrace.cli.launch.JobDisplay;
import dev.millrace.cli.text.Json;
import dev.millrace.job.Mode;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Runs a job, kills and pauses its processes at random moments, and checks what it counted. */
@Command(
    name = "chaos",
    description = "Kill the processes of a job at random moments, and check that nothing is lost.",
    footer = {
      "",
      "The job counts: every update has an identity, and at the end each acknowledged one must be",
      "there once. Exit code 1 if one is lost or doubled, if a worker hangs, or if the last",
      "checkpoint cannot be read.",
      "",
      "Examples:",
      "  millrace chaos --kills 20",
      "  millrace chaos --mode sync --durability memory --kills 50 --seed 3 --json result.json",
    })
public final class ChaosCommand implements Callable<Integer> {
  @CommandLine.Spec CommandLine.Model.CommandSpec spec;

  @Option(
      names = "--mode",
      description = "How the workers train together: async, sync or bounded. Default: async")
  Mode mode = Mode.ASYNC;

  @Option(
      names = "--durability",
      description =
          "What the state of parameter servers outlives: ${COMPLETION-CANDIDATES}. Default:"
              + " ${DEFAULT-VALUE}")
  ChaosSettings.Durability durability = ChaosSettings.Durability.PROCESS;

  @Option(
      names = "--ps",
      paramLabel = "N",
      description = "How many parameter servers. Default: ${DEFAULT-VALUE}")
  int ps = 1;

  @Option(
      names = "--workers",
      paramLabel = "N",
      description = "How many workers. Default: ${DEFAULT-VALUE}")
  int workers = 2;

  @Option(
      names = "--kills",
      paramLabel = "N",
      description = "How many processes are killed. Default: ${DEFAULT-VALUE}")
  int kills = 20;

  @Option(
      names = "--pauses",
      paramLabel = "SHARE",
      description =
          "The share of faults that stop a process for a while in place of killing it. Default:"
              + " ${DEFAULT-VALUE}")
  double pauses = 0.1;

  @Option(
      names = "--seed",
      paramLabel = "N",
      description = "Chooses the faults. Default: a random one, which is printed")
  Long seed;

  @Option(
      names = "--logs",
      paramLabel = "FOLDER",
      description = "Where the logs go; a new folder in millrace-logs if not given.")
  Path logs;

  @Option(names = "--json", paramLabel = "FILE", description = "Also write the result to a file.")
  Path json;

  @Override
  public Integer call() throws Exception {
    if (!mode.hasServers()) {
      throw MillraceException.invalid(
          "--mode %s has no parameter servers; use async, sync or bounded.", mode);
    }
    if (ps < 1 || workers < 1 || kills < 0 || !(pauses >= 0 && pauses < 1)) {
      throw MillraceException.invalid(
          "--ps and --workers must be at least 1, --kills at least 0, --pauses from 0 to below 1.");
    }
    long chosen = seed != null ? seed : Platform.system().random().nextInt(1, 1_000_000);
    ChaosSettings settings =
        new ChaosSettings(mode, durability, ps, workers, kills, pauses, chosen);
    Path folder = (logs != null ? logs : JobDisplay.newFolder("chaos")).toAbsolutePath();
    Files.createDirectories(folder);
    PrintWriter out = spec.commandLine().getOut();
    out.printf(
        "%d ps, %d workers, %s, durability %s, %d kills, seed %d. The logs are in %s.%n",
        ps, workers, mode, durability, kills, chosen, folder);
    out.flush();
    ChaosResult result = new ChaosRun(settings, folder, out).run(folder);
    result.print(out);
    if (json != null) {
      Files.writeString(json, Json.of(result.json()) + "\n");
    }
    if (!result.isGood()) {
      throw new MillraceException(
          Code.ABORTED,
          "The job did not keep what it acknowledged. The logs are in " + folder + ".");
    }
    return 0;
  }
}
