package dev.millrace.interop.job;

import dev.millrace.base.MillraceException;
import dev.millrace.base.ProcessEnvironment;
import dev.millrace.interop.PythonTensorFlow;
import dev.millrace.interop.bench.BenchReport;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * A click model that reads CSV, in one process and with one parameter server and two workers, as a
 * program of {@code ./millrace run} and as one of TensorFlow's in Python.
 */
public final class ClickBenchmark {
  /** The questions as the report names them: one process, and 1 ps with 2 workers. */
  public static final List<String> QUESTIONS = List.of("ctr 1 process", "ctr 1 ps 2 workers");

  private static final int BATCH = 256;
  private static final int ROWS = 200_000;

  private ClickBenchmark() {}

  /**
   * Runs the jobs of each question {@code rounds} times for {@code duration} and prints a table of
   * medians.
   */
  public static void run(
      BenchReport report, Path home, List<String> questions, int rounds, Duration duration)
      throws IOException {
    Path folder = Files.createTempDirectory("millrace-ctr-");
    try {
      Path data = folder.resolve("train.csv");
      ClickData.write(data, ROWS, 1);
      for (String question : questions) {
        boolean cluster = question.equals(QUESTIONS.getLast());
        JobContest contest = new JobContest(question, folder);
        try {
          PythonTensorFlow python = PythonTensorFlow.find();
          contest.add(
              "Python TensorFlow " + python.version(),
              python.command(
                  "ctr.py", List.of(data.toString(), JobContest.FOLDER, cluster ? "2" : "0")));
        } catch (MillraceException e) {
          report.absent(e.getMessage());
        }
        contest.add("Millrace", command(home, data, cluster));
        contest.play(rounds, duration);
        contest.print(BATCH);
      }
    } finally {
      Folders.remove(folder);
    }
  }

  private static List<String> command(Path home, Path data, boolean cluster) {
    List<String> words = new ArrayList<>(List.of(home.resolve("millrace").toString(), "run"));
    words.add("--logs=" + JobContest.FOLDER + "/task-logs");
    words.addAll(
        cluster ? List.of("--mode=async", "--ps=1", "--workers=2") : List.of("--mode=local"));
    words.addAll(
        List.of(
            "--",
            "-cp",
            ProcessEnvironment.classPath(),
            ClickModel.class.getName(),
            "--data=" + data,
            "--epochs=100000",
            "--log-dir=" + JobContest.FOLDER + "/logs"));
    return words;
  }
}
