package dev.millrace.interop.job;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;

/** Jobs that do the same, started anew in every round, in turns; the table shows medians. */
final class JobContest {
  /** In a command: the folder of this start. */
  static final String FOLDER = "@folder";

  /** A job to start, and what came of each start. */
  private record Contender(String name, List<String> command, List<JobRun> runs) {
    private double median(ToDoubleFunction<JobRun> what) {
      double[] sorted = runs.stream().mapToDouble(what).sorted().toArray();
      int n = sorted.length;
      return (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
    }
  }

  private final String question;
  private final Path folder;
  private final List<Contender> contenders = new ArrayList<>();

  /** Contenders work in folders below {@code folder}. */
  JobContest(String question, Path folder) {
    this.question = question;
    this.folder = folder;
  }

  /** Adds a job; {@link #FOLDER} in its command stands for the folder of each start. */
  void add(String name, List<String> command) {
    contenders.add(new Contender(name, command, new ArrayList<>()));
  }

  /** Runs each job {@code rounds} times for {@code duration}. */
  void play(int rounds, Duration duration) throws IOException {
    for (int round = 0; round < rounds; round++) {
      for (Contender c : round % 2 == 0 ? contenders : contenders.reversed()) {
        Path own = Files.createTempDirectory(folder, "job-");
        List<String> command =
            c.command.stream().map(w -> w.replace(FOLDER, own.toString())).toList();
        c.runs.add(ObservedJob.run(command, own, duration));
      }
    }
  }

  /** Prints the medians, and of each start the times to the first step and to full speed. */
  void print(int examplesPerStep) {
    System.out.printf(
        Locale.ROOT,
        "%n%-36s %12s %12s %12s %10s %9s %11s  %s%n",
        question,
        "first step s",
        "full speed s",
        "CPU s then",
        "CPU s all",
        "peak MB",
        "examples/s",
        "first/full of each start");
    for (Contender c : contenders) {
      List<String> starts =
          c.runs.stream()
              .map(r -> String.format(Locale.ROOT, "%.1f/%.1f", r.firstStep(), r.fullSpeed()))
              .toList();
      System.out.printf(
          Locale.ROOT,
          "  %-34s %12.1f %12.1f %12.1f %10.1f %,9.0f %,11.0f  %s%n",
          c.name,
          c.median(JobRun::firstStep),
          c.median(JobRun::fullSpeed),
          c.median(JobRun::cpuSeconds),
          c.median(JobRun::allCpuSeconds),
          c.median(r -> r.peakBytes() / 1e6),
          c.median(r -> r.stepsPerSecond() * examplesPerStep),
          String.join(", ", starts));
    }
    System.out.flush();
  }
}
