package dev.millrace.interop.allreduce;

import dev.millrace.interop.bench.BenchReport;
import dev.millrace.interop.bench.Match;
import dev.millrace.interop.bench.Sample;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * How long does an all-reduce of float32 take between processes of this host, beside OpenMPI and
 * Gloo?
 *
 * <pre>
 * AllReduceBenchmark [--ranks 2] [--rounds 5] [--seconds 0.3] [--sizes 4096,65536,...]
 *     [--ways memory,copied,unix,tcp] [--bind true] [--distance 100]
 * </pre>
 *
 * <p>Rounds of all contenders alternate: what the machine does meanwhile disturbs all of them
 * alike; see {@link Distance} for what is taken again. There is a table per size, and the first
 * contender is OpenMPI over shared memory where there is one. The last is no all-reduce but what
 * loopback itself allows.
 */
public final class AllReduceBenchmark {
  /**
   * What is measured.
   *
   * @param seconds how long each size is reduced again and again in a round
   * @param ways how Millrace's bytes travel
   * @param bind whether each of two ranks keeps to one processor, as mpirun has it
   * @param distance how many nanoseconds the processors are to be apart; 0: as they usually are
   */
  public record Settings(
      int ranks,
      int rounds,
      double seconds,
      List<Long> sizes,
      List<String> ways,
      boolean bind,
      double distance) {
    /** Two ranks, from what a bias has to what a large model has. */
    public static final Settings DEFAULT =
        new Settings(
            2,
            5,
            .3,
            List.of(
                4L << 10,
                16L << 10,
                64L << 10,
                256L << 10,
                1L << 20,
                4L << 20,
                16L << 20,
                64L << 20,
                256L << 20),
            List.of("memory", "copied", "unix", "tcp"),
            true,
            0);

    /** The same with so many rounds. */
    public Settings withRounds(int n) {
      return new Settings(ranks, n, seconds, sizes, ways, bind, distance);
    }

    /** The same, of the sizes alone whose questions {@code asked} accepts. */
    public Settings about(Predicate<String> asked) {
      List<Long> some = sizes.stream().filter(s -> asked.test(question(s))).toList();
      return new Settings(ranks, rounds, seconds, some, ways, bind, distance);
    }

    /** What is asked, size by size. */
    public List<String> questions() {
      return sizes.stream().map(this::question).toList();
    }

    private String question(long size) {
      return String.format(Locale.ROOT, "all-reduce of %,d bytes, %d ranks", size, ranks);
    }

    private static Settings of(Map<String, String> options) {
      return new Settings(
          Integer.parseInt(options.getOrDefault("ranks", "" + DEFAULT.ranks)),
          Integer.parseInt(options.getOrDefault("rounds", "" + DEFAULT.rounds)),
          Double.parseDouble(options.getOrDefault("seconds", "" + DEFAULT.seconds)),
          options.containsKey("sizes")
              ? Arrays.stream(options.get("sizes").split(",")).map(Long::valueOf).toList()
              : DEFAULT.sizes,
          options.containsKey("ways") ? List.of(options.get("ways").split(",")) : DEFAULT.ways,
          Boolean.parseBoolean(options.getOrDefault("bind", "" + DEFAULT.bind)),
          Double.parseDouble(options.getOrDefault("distance", "" + DEFAULT.distance)));
    }
  }

  private AllReduceBenchmark() {}

  /** Measures by the options given. */
  public static void main(String[] args) throws IOException {
    Map<String, String> options = new LinkedHashMap<>();
    for (int i = 0; i + 1 < args.length; i += 2) {
      options.put(args[i].substring(2), args[i + 1]);
    }
    run(new BenchReport(System.out), Settings.of(options));
  }

  /** Measures, and adds a table per size to {@code report}. */
  public static void run(BenchReport report, Settings settings) throws IOException {
    Path folder = Files.createTempDirectory("millrace-peers");
    List<AllReduceContender> contenders = new ArrayList<>();
    // By size, then by name.
    Map<Long, Map<String, List<Sample>>> results = new TreeMap<>();
    Distance distance = settings.distance > 0 ? Distance.of(settings.distance) : Distance.usual();
    try {
      contenders.addAll(PeerProgram.all(folder, settings.ranks, report::absent));
      for (String way : settings.ways) {
        MillraceRanks.Way w = MillraceRanks.Way.valueOf(way.toUpperCase(Locale.ROOT));
        contenders.add(new MillraceRanks(w, settings.ranks, settings.bind));
      }
      contenders.add(new PlainExchange(settings.ranks));
      for (int round = 0; round < settings.rounds; round++) {
        for (long size : settings.sizes) {
          for (AllReduceContender c : contenders) {
            double seconds = distance.steady(() -> c.run(size, settings.seconds));
            results
                .computeIfAbsent(size, s -> new LinkedHashMap<>())
                .computeIfAbsent(c.name(), n -> new ArrayList<>())
                .add(new Sample(1 / seconds, 1e6 * seconds, Double.NaN, 0));
          }
        }
      }
    } finally {
      contenders.forEach(AllReduceContender::close);
      delete(folder);
    }
    results.forEach(
        (size, byName) ->
            report.add(
                settings.question(size),
                byName.entrySet().stream()
                    .map(e -> new Match.Result(e.getKey(), e.getValue()))
                    .toList()));
    System.out.printf(
        Locale.ROOT,
        "This machine copies at %.1f GB/s and sends %.1f GB/s one way over loopback.%n",
        Limits.copy(),
        Limits.loopback());
    System.out.println(distance);
  }

  private static void delete(Path folder) throws IOException {
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path p : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(p);
      }
    }
  }
}
