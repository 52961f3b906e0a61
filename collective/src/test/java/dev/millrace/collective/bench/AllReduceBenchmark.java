package dev.millrace.collective.bench;

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
import java.util.stream.Stream;

/**
 * How long does an all-reduce of float32 take between processes of this host, beside OpenMPI and
 * Gloo?
 *
 * <pre>
 * AllReduceBenchmark [--ranks 2] [--rounds 5] [--seconds 0.3] [--sizes 4096,65536,...]
 *     [--ways memory,copied,unix,tcp] [--bind false]
 * </pre>
 *
 * <p>Rounds of all contenders alternate, and the median of the rounds' medians is printed: what the
 * machine does meanwhile disturbs all of them alike. Below, what matters: how many times as fast as
 * OpenMPI's default (shared memory) Millrace is with vectors in shared memory, and over TCP as the
 * faster of OpenMPI and Gloo.
 */
public final class AllReduceBenchmark {
  private final int ranks;
  private final Map<String, Map<Long, List<Double>>> results = new LinkedHashMap<>();

  private AllReduceBenchmark(int ranks) {
    this.ranks = ranks;
  }

  public static void main(String[] args) throws Exception {
    Map<String, String> options = new LinkedHashMap<>();
    for (int i = 0; i + 1 < args.length; i += 2) {
      options.put(args[i].substring(2), args[i + 1]);
    }
    int ranks = Integer.parseInt(options.getOrDefault("ranks", "2"));
    int rounds = Integer.parseInt(options.getOrDefault("rounds", "5"));
    double seconds = Double.parseDouble(options.getOrDefault("seconds", "0.3"));
    boolean bind = Boolean.parseBoolean(options.getOrDefault("bind", "false"));
    String sizes = options.getOrDefault("sizes", "4096,65536,1048576,16777216,67108864,268435456");
    String ways = options.getOrDefault("ways", "memory,copied,unix,tcp");
    Path folder = Files.createTempDirectory("millrace-peers");
    List<Contender> contenders = new ArrayList<>();
    AllReduceBenchmark benchmark = new AllReduceBenchmark(ranks);
    try {
      for (String way : ways.toUpperCase(Locale.ROOT).split(",")) {
        contenders.add(new MillraceRanks(MillraceRanks.Way.valueOf(way), ranks, bind));
      }
      contenders.addAll(PeerProgram.all(folder, ranks));
      List<Long> bytes = Arrays.stream(sizes.split(",")).map(Long::valueOf).toList();
      for (int round = 0; round < rounds; round++) {
        benchmark.round(contenders, bytes, seconds);
        System.err.printf("round %d of %d%n", round + 1, rounds);
      }
    } finally {
      contenders.forEach(Contender::close);
      delete(folder);
    }
    benchmark.print();
  }

  private static void delete(Path folder) throws IOException {
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path p : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(p);
      }
    }
  }

  private void round(List<Contender> contenders, List<Long> sizes, double seconds)
      throws IOException {
    for (Contender c : contenders) {
      Map<Long, List<Double>> mine = results.computeIfAbsent(c.name(), n -> new TreeMap<>());
      c.run(sizes, seconds)
          .forEach((size, t) -> mine.computeIfAbsent(size, s -> new ArrayList<>()).add(t));
    }
  }

  private void print() throws IOException {
    System.out.printf(
        Locale.ROOT,
        "%d ranks, microseconds (bus GB/s); this machine copies at %.1f GB/s and sends %.1f GB/s"
            + " one way over loopback%n%-10s",
        ranks,
        Limits.copy(),
        Limits.loopback(),
        "bytes");
    results.keySet().forEach(name -> System.out.printf(" %19s", name));
    System.out.printf(" %12s %10s%n", "memory/mpi", "tcp/best");
    for (long size : results.values().iterator().next().keySet()) {
      System.out.printf("%-10d", size);
      for (String name : results.keySet()) {
        double median = median(name, size);
        double bus = 2.0 * (ranks - 1) / ranks * size / median / 1e9;
        System.out.printf(Locale.ROOT, " %11.1f (%5.2f)", median * 1e6, bus);
      }
      double best =
          Stream.of("openmpi-tcp", "gloo-ring", "gloo-halving")
              .mapToDouble(n -> median(n, size))
              .min()
              .orElseThrow();
      System.out.printf(
          Locale.ROOT,
          " %11.2fx %9.2fx%n",
          median("openmpi", size) / median("memory", size),
          best / median("tcp", size));
    }
  }

  /** Seconds; infinite for a contender that is absent. */
  private double median(String name, long size) {
    if (!results.containsKey(name)) {
      return Double.POSITIVE_INFINITY;
    }
    double[] sorted =
        results.get(name).get(size).stream().mapToDouble(Double::doubleValue).sorted().toArray();
    return sorted[sorted.length / 2];
  }
}
