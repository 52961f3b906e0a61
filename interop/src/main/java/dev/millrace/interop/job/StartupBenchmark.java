package dev.millrace.interop.job;

import dev.millrace.base.MillraceException;
import dev.millrace.examples.mnist.MnistData;
import dev.millrace.interop.PythonTensorFlow;
import dev.millrace.interop.bench.BenchReport;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/**
 * The first seconds of a job that trains on MNIST with one parameter server and two workers: {@code
 * ./millrace train mnist}, and the same job of TensorFlow's in Python.
 */
public final class StartupBenchmark {
  /** The question as the report names it. */
  public static final String QUESTION = "startup of mnist, 1 ps 2 workers";

  private static final int BATCH = 100;
  private static final List<String> FILES =
      List.of("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz");

  private StartupBenchmark() {}

  /** Runs each job {@code rounds} times for {@code duration} and prints a table of medians. */
  public static void run(BenchReport report, Path home, int rounds, Duration duration)
      throws IOException {
    Path folder = Files.createTempDirectory("millrace-startup-");
    try {
      JobContest contest = new JobContest(QUESTION, folder);
      try {
        PythonTensorFlow python = PythonTensorFlow.find();
        for (String file : FILES) {
          try (InputStream in = MnistData.class.getResourceAsStream("/mnist/" + file)) {
            Files.copy(in, folder.resolve(file));
          }
        }
        contest.add(
            "Python TensorFlow " + python.version(),
            python.command("startup.py", List.of(folder.toString(), JobContest.FOLDER)));
      } catch (MillraceException e) {
        report.absent(e.getMessage());
      }
      contest.add(
          "Millrace",
          List.of(
              home.resolve("millrace").toString(),
              "train",
              "mnist",
              "--steps=1000000",
              "--log-dir=" + JobContest.FOLDER + "/logs"));
      contest.play(rounds, duration);
      contest.print(BATCH);
    } finally {
      Folders.remove(folder);
    }
  }
}
