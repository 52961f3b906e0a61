package dev.millrace.cli.doctor;

import dev.millrace.base.MillraceException;
import dev.millrace.cli.cluster.ClusterFlags;
import dev.millrace.cli.cluster.SecurityFlags;
import dev.millrace.cli.doctor.Diagnosis.Finding;
import dev.millrace.cli.text.CommandOutput;
import dev.millrace.cli.text.ErrorPrinter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Looks, before a job or beside it, for what would make it fail. */
@Command(
    name = "doctor",
    description =
        "Check this machine and a cluster before a job: Java, memory, names, ports,"
            + " every address both ways, the checkpoint folder.",
    footer = {
      "",
      "Ends with code 1 if something would make a job fail.",
      "",
      "Examples:",
      "  millrace doctor",
      "  millrace doctor --ps_hosts host0:2222 --worker_hosts host1:2222 --log-dir /data/logs",
    })
public final class DoctorCommand implements Callable<Integer> {
  @Mixin CommandOutput report;
  @Mixin ClusterFlags cluster;
  @Mixin SecurityFlags security;

  @Option(
      names = {"--log-dir", "--log_dir"},
      paramLabel = "FOLDER",
      description = "The folder checkpoints are to be saved in.")
  Path logDir;

  @Option(
      names = "--timeout",
      paramLabel = "SECONDS",
      description = "How long a task may take to answer. Default: ${DEFAULT-VALUE}")
  int timeoutSeconds = 5;

  @Override
  public Integer call() {
    return security.context("doctor").call(this::examine);
  }

  private int examine() {
    if (timeoutSeconds < 1) {
      throw MillraceException.invalid("--timeout is %d; it must be at least 1.", timeoutSeconds);
    }
    Diagnosis found = new Diagnosis();
    MachineCheck machine = new MachineCheck(found);
    machine.java();
    machine.memory();
    if (logDir != null) {
      machine.folder(logDir);
    }
    if (cluster.hasCluster()) {
      Duration patience = Duration.ofSeconds(timeoutSeconds);
      new NetworkCheck(cluster.cluster(), patience, found).run();
    }
    if (report.json) {
      report.json(found.findings().stream().map(Finding::facts).toList());
    } else {
      for (Finding f : found.findings()) {
        String mark =
            switch (f.verdict()) {
              case OK -> "ok  ";
              case NOTE -> "note";
              case BAD -> "BAD ";
            };
        report.out().printf("%s  %-13s %s%n", mark, f.subject(), f.text());
      }
    }
    return found.isHealthy() ? 0 : ErrorPrinter.FAILURE;
  }
}
