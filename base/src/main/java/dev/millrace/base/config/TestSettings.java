package dev.millrace.base.config;

import static dev.millrace.base.config.Setting.Group.TESTS;
import static java.time.temporal.ChronoUnit.MINUTES;
import static java.time.temporal.ChronoUnit.SECONDS;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/** Settings of tests and benchmarks. */
public final class TestSettings {
  public static final Setting<Long> SEED =
      Setting.optional(
          TESTS,
          "millrace.seed",
          SettingKind.longNumber(),
          "The seed of random tests, to repeat a failure.");

  public static final Setting<Integer> KILLS =
      Setting.of(
          TESTS,
          "millrace.kills",
          SettingKind.integer("", 1),
          6,
          "How many processes the test of random failures kills.");

  public static final Setting<Integer> SAVES_UNDER_LOAD =
      Setting.of(
          TESTS,
          "millrace.saves.under.load",
          SettingKind.integer("", 1),
          24,
          "How many checkpoints the test of saving under load writes.");

  public static final Setting<Duration> FUZZ_SECONDS =
      Setting.optional(
          TESTS,
          "millrace.fuzz.seconds",
          SettingKind.time(SECONDS),
          "How long each fuzz test runs.");

  public static final Setting<Boolean> TEST_LARGE =
      Setting.of(
          TESTS,
          "millrace.test.large",
          SettingKind.BOOLEAN,
          false,
          "Whether the tests of large tensors pass 2 GiB.");

  public static final Setting<String> PYTHON =
      Setting.optional(
          TESTS,
          "millrace.python",
          SettingKind.TEXT,
          "The Python program that has TensorFlow, for interop tests and benchmarks.");

  public static final Setting<String> TORCH =
      Setting.of(
          TESTS,
          "millrace.torch",
          SettingKind.TEXT,
          "/usr/bin/python3",
          "The Python program that has PyTorch, for benchmarks.");

  public static final Setting<Path> CACHE =
      Setting.optional(
          TESTS,
          "millrace.cache",
          SettingKind.PATH,
          "The folder interop tests keep downloads in, in place of the user's cache folder.");

  public static final Setting<Integer> BENCH_ROUNDS =
      Setting.of(
          TESTS,
          "millrace.bench.rounds",
          SettingKind.integer("", 1),
          5,
          "How often a benchmark measures each contender.");

  public static final Setting<Duration> BENCH_SECONDS =
      Setting.of(
          TESTS,
          "millrace.bench.seconds",
          SettingKind.time(SECONDS),
          Duration.ofSeconds(2),
          "How long a contender runs per round.");

  public static final Setting<Boolean> BENCH_LIST =
      Setting.of(
          TESTS,
          "millrace.bench.list",
          SettingKind.BOOLEAN,
          false,
          "Whether the benchmarks are only listed.");

  public static final Setting<Path> BENCH_JSON =
      Setting.optional(
          TESTS,
          "millrace.bench.json",
          SettingKind.PATH,
          "A file for the results of the benchmarks.");

  public static final Setting<Boolean> BENCH_PEERS =
      Setting.of(
          TESTS,
          "millrace.bench.peers",
          SettingKind.BOOLEAN,
          true,
          "Whether other systems are measured too.");

  public static final Setting<String> BENCH_RATE =
      Setting.of(
          TESTS,
          "millrace.bench.rate",
          SettingKind.TEXT,
          "1gbit",
          "The rate that the benchmark of slow links gives them.");

  public static final Setting<String> BENCH_NETWORK =
      Setting.of(
          TESTS,
          "millrace.bench.network",
          SettingKind.TEXT,
          "mlp",
          "The network that the benchmark of slow links trains.");

  public static final Setting<String> BENCH_WORKERS =
      Setting.optional(
          TESTS,
          "millrace.bench.workers",
          SettingKind.TEXT,
          "Numbers of workers that a benchmark measures, separated by commas.");

  public static final Setting<Duration> SOAK_MINUTES =
      Setting.of(
          TESTS,
          "millrace.soak.minutes",
          SettingKind.time(MINUTES),
          Duration.ofMinutes(30),
          "How long the soak test runs.");

  public static final Setting<Integer> SOAK_RATE =
      Setting.optional(
          TESTS,
          "millrace.soak.rate",
          SettingKind.integer("steps/s", 1),
          "Limits the steps per second of the soak test.");

  static final List<Setting<?>> ALL =
      List.of(
          SEED,
          KILLS,
          SAVES_UNDER_LOAD,
          FUZZ_SECONDS,
          TEST_LARGE,
          PYTHON,
          TORCH,
          CACHE,
          BENCH_ROUNDS,
          BENCH_SECONDS,
          BENCH_LIST,
          BENCH_JSON,
          BENCH_PEERS,
          BENCH_RATE,
          BENCH_NETWORK,
          BENCH_WORKERS,
          SOAK_MINUTES,
          SOAK_RATE);

  private TestSettings() {}
}
