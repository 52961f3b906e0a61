package dev.millrace.interop.ring;

import dev.millrace.base.MillraceException;
import dev.millrace.base.config.Config;
import dev.millrace.base.config.TestSettings;
import dev.millrace.interop.ChildProcess;
import dev.millrace.interop.bench.Contender;
import dev.millrace.interop.bench.Match;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Training on hosts with slow links: what overlapping gains, and where the ring and where parameter
 * servers win.
 *
 * <pre>
 * SlowLinks [overlap] [servers] [-Dbench.rate=1gbit] [-Dbench.network=mlp]
 *     [-Dbench.workers=1,2,3,4]
 * </pre>
 *
 * <p>Needs the right to make network namespaces; says so and ends with code 3 where there is none.
 */
public final class SlowLinks {
  private static final int HOSTS = 4;
  private static final int RING_PORT = 29400;
  private static final int PS_PORT = 2220;
  private static final int WORKER_PORT = 2221;

  private final ShapedHosts hosts;
  private final String network;
  private final Match match;

  private SlowLinks(ShapedHosts hosts, String network, Match match) {
    this.hosts = hosts;
    this.network = network;
    this.match = match;
  }

  public static void main(String[] args) {
    Config config = Config.ofProcess();
    String rate = config.get(TestSettings.BENCH_RATE);
    String network = config.get(TestSettings.BENCH_NETWORK);
    Match match =
        new Match(config.get(TestSettings.BENCH_ROUNDS), config.get(TestSettings.BENCH_SECONDS));
    List<String> wanted = args.length == 0 ? List.of("overlap", "servers") : List.of(args);
    try (ShapedHosts hosts = new ShapedHosts(HOSTS, rate)) {
      SlowLinks links = new SlowLinks(hosts, network, match);
      System.out.printf("%s, every host linked at %s%n", network, rate);
      if (wanted.contains("overlap")) {
        links.overlap();
      }
      if (wanted.contains("servers")) {
        links.servers();
      }
    } catch (MillraceException e) {
      System.out.println(e.getMessage());
      System.exit(e.getMessage().startsWith("SKIPPED") ? 3 : 1);
    }
  }

  private static int[] workers(String unlessToldOtherwise) {
    String list = Config.ofProcess().find(TestSettings.BENCH_WORKERS).orElse(unlessToldOtherwise);
    return Arrays.stream(list.split(",")).mapToInt(Integer::parseInt).toArray();
  }

  // ---- overlap ----

  private void overlap() {
    for (int n : workers("2," + HOSTS)) {
      List<Contender> contenders = new ArrayList<>();
      try {
        contenders.add(ring(n, "late"));
        contenders.add(ring(n, "overlap"));
        Match.print(System.out, network + ", " + n + " ranks", match.play(contenders));
      } finally {
        contenders.forEach(Contender::close);
      }
    }
  }

  private Contender ring(int ranks, String mode) {
    List<ChildProcess> processes = new ArrayList<>();
    // Rings of one run may overlap in time, so each has a port of its own.
    int port = RING_PORT + ranks + (mode.equals("late") ? HOSTS : 0);
    for (int r = 0; r < ranks; r++) {
      Map<String, String> environment =
          Map.of(
              "MILLRACE_RANK", Integer.toString(r),
              "MILLRACE_SIZE", Integer.toString(ranks),
              "MILLRACE_RENDEZVOUS", hosts.address(0) + ":" + port,
              "MILLRACE_TOKEN", "slow links " + ProcessHandle.current().pid(),
              "MILLRACE_BIND", hosts.address(r));
      List<String> command = ChildProcess.java(TrainingRank.class, List.of(network, mode));
      processes.add(ChildProcess.start("rank-" + r, hosts.on(r, command), environment));
    }
    return Ranks.started(
        "ring of " + ranks + (mode.equals("late") ? ", no overlap" : ""), processes);
  }

  // ---- ring against parameter servers ----

  private void servers() {
    System.out.printf(
        "%n%-8s %12s %12s %12s   %s%n",
        "workers",
        "ring ms",
        "1 ps ms",
        "n ps ms",
        "bytes through the busiest link, times the model, each way");
    for (int n : workers("1,2,3,4")) {
      double ring = stepMillis(ring(n, "overlap"));
      double one = stepMillis(parameterServers(1, n));
      double many = n == 1 ? one : stepMillis(parameterServers(n, n));
      System.out.printf(
          Locale.ROOT,
          "%-8d %12.1f %12.1f %12.1f   ring %.2f, 1 ps %d, n ps %.2f%n",
          n,
          ring,
          one,
          many,
          2.0 * (n - 1) / n,
          n,
          n == 1 ? 1 : 2.0 * (n - 1) / n);
    }
  }

  private double stepMillis(Contender c) {
    try (c) {
      return 1000 / match.play(List.of(c)).getFirst().stepsPerSecond();
    }
  }

  /** Parameter servers on hosts from the last backwards, workers on hosts from the first. */
  private Contender parameterServers(int ps, int workers) {
    String psHosts = list(ps, i -> hosts.address(HOSTS - 1 - i) + ":" + PS_PORT);
    String workerHosts = list(workers, i -> hosts.address(i) + ":" + WORKER_PORT);
    List<ChildProcess> servers = new ArrayList<>();
    List<ChildProcess> trainers = new ArrayList<>();
    try {
      for (int i = 0; i < ps; i++) {
        servers.add(task(HOSTS - 1 - i, List.of(network, psHosts, workerHosts, "ps", "" + i)));
      }
      for (ChildProcess s : servers) {
        s.receive(Duration.ofSeconds(60));
      }
      for (int i = 0; i < workers; i++) {
        ChildProcess w = task(i, List.of(network, psHosts, workerHosts, "worker", "" + i));
        trainers.add(w);
        // The first initialises the variables, so the others come after it.
        w.receive(Duration.ofSeconds(120));
      }
    } catch (RuntimeException e) {
      servers.forEach(ChildProcess::close);
      trainers.forEach(ChildProcess::close);
      throw e;
    }
    return Ranks.ready(ps + " ps, " + workers + " workers", trainers, servers);
  }

  private ChildProcess task(int host, List<String> arguments) {
    List<String> command = ChildProcess.java(PsTask.class, arguments);
    return ChildProcess.start(
        arguments.get(3) + arguments.get(4), hosts.on(host, command), Map.of());
  }

  private static String list(int n, java.util.function.IntFunction<String> each) {
    return IntStream.range(0, n).mapToObj(each).collect(Collectors.joining(","));
  }
}
