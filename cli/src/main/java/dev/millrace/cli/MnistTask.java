package dev.millrace.cli;

import dev.millrace.base.config.Config;
import dev.millrace.cli.text.ErrorPrinter;
import dev.millrace.examples.mnist.Mnist;
import java.io.PrintWriter;
import java.util.List;

/**
 * A task that {@code millrace train mnist} has started. It takes the flags of the job as the
 * launcher has checked them, without the command line's parser: that reads the tables of all
 * commands, which three processes at once would pay for in their first second.
 */
final class MnistTask {
  private MnistTask() {}

  static void main(String[] args) {
    Millrace.setUpLogs(List.of(args));
    int code = run(new PrintWriter(System.out, true), new PrintWriter(System.err, true), args);
    System.out.flush();
    System.exit(code);
  }

  /** Runs the task and returns its exit code. */
  static int run(PrintWriter out, PrintWriter err, String... args) {
    try {
      TrainMnist.report(Mnist.job().process(Config.ofProcess(), args).run(System.out), out);
      return 0;
    } catch (Exception | LinkageError | StackOverflowError e) {
      return ErrorPrinter.failed(e, err, List.of(args).contains("--verbose"));
    }
  }
}
