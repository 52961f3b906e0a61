package dev.millrace.cli;

import dev.millrace.base.MillraceException;
import dev.millrace.base.config.Config;
import dev.millrace.base.config.TestSettings;
import java.lang.reflect.InvocationTargetException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/**
 * Measures Millrace beside its peers. The runner and the peers' libraries are in {@code interop},
 * which is no part of the product: the script {@code ./millrace} builds it and puts it on the class
 * path when this command is run.
 */
@Command(
    name = "bench",
    description = {
      "Measure Millrace beside TensorFlow, DL4J, DJL, OpenMPI and Gloo, as far as they are here.",
      "The first run downloads TensorFlow (200 MB). One table per question; the last column is the"
          + " ratio to the first contender."
    },
    footer = {
      "",
      "Examples:",
      "  millrace bench --list",
      "  millrace bench local",
      "  millrace bench allreduce --json allreduce.json",
      "  millrace bench mlp --rounds 9",
      "  millrace bench startup"
    })
final class BenchCommand implements Callable<Integer> {
  private static final String RUNNER = "dev.millrace.interop.suite.Benchmarks";

  @Parameters(
      arity = "0..*",
      paramLabel = "WHAT",
      description =
          "local, cluster, training, allreduce, input, serving, jobs or all, or part of a"
              + " question's name.")
  List<String> what = List.of("all");

  @Option(names = "--list", description = "Only name the questions, under their suites.")
  boolean list;

  @Option(names = "--json", paramLabel = "FILE", description = "Write the results there too.")
  Path json;

  @Option(
      names = "--rounds",
      paramLabel = "N",
      description = "How often each contender is measured. Default: ${DEFAULT-VALUE}")
  int rounds = 5;

  @Option(
      names = "--seconds",
      paramLabel = "S",
      description =
          "How long each runs per round; whole jobs at least 30 s. Default: ${DEFAULT-VALUE}")
  double seconds = 2;

  @Override
  public Integer call() throws Exception {
    if (rounds < 1 || !(seconds > 0)) {
      throw MillraceException.invalid(
          "--rounds is %d and --seconds %s; both must be more than 0.", rounds, seconds);
    }
    Class<?> runner;
    try {
      runner = Class.forName(RUNNER);
    } catch (ClassNotFoundException e) {
      throw MillraceException.invalid(
          "The benchmarks (%s) are not on the class path. Run ./millrace bench in a source tree of"
              + " Millrace.",
          RUNNER);
    }
    Config config =
        Config.ofProcess()
            .withFlag(TestSettings.BENCH_ROUNDS, "--rounds", Integer.toString(rounds))
            .withFlag(TestSettings.BENCH_SECONDS, "--seconds", Double.toString(seconds))
            .with(TestSettings.BENCH_LIST, list);
    if (json != null) {
      config = config.with(TestSettings.BENCH_JSON, json);
    }
    try {
      runner.getMethod("run", List.class, Config.class).invoke(null, what, config);
    } catch (InvocationTargetException e) {
      throw e.getCause() instanceof Exception cause ? cause : e;
    }
    return 0;
  }
}
