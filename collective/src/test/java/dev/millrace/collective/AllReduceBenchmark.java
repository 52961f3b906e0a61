package dev.millrace.collective;

import dev.millrace.collective.reduce.ReduceOp;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;

/**
 * How long does an all-reduce of float32 take between processes of this host? Every transport, by
 * size, beside any other program.
 *
 * <pre>
 * AllReduceBenchmark [--ranks 2] [--rounds 5] [--seconds 0.3] [--sizes 4096,65536,...]
 *     [--ways memory,copied,unix,tcp] [--bind false] [--beside name=command ...]
 * </pre>
 *
 * <p>With {@code --bind true} each rank keeps to one processor, as mpirun does by default for two
 * processes.
 *
 * <p>A command is run as it is with {@code {ranks}}, {@code {seconds}} and {@code {sizes}} replaced
 * (sizes separated by blanks) and prints a line {@code bytes seconds} per size. Rounds of all
 * contenders alternate, and the median of the rounds' medians is printed in microseconds: what the
 * machine does meanwhile disturbs all of them alike.
 */
public final class AllReduceBenchmark {
  private AllReduceBenchmark() {}

  public static void main(String[] args) throws Exception {
    if (System.getenv("MILLRACE_RANK") != null) {
      runRank();
      return;
    }
    Map<String, String> options = new LinkedHashMap<>();
    List<String> beside = new ArrayList<>();
    for (int i = 0; i + 1 < args.length; i += 2) {
      if (args[i].equals("--beside")) {
        beside.add(args[i + 1]);
      } else {
        options.put(args[i].substring(2), args[i + 1]);
      }
    }
    int ranks = Integer.parseInt(options.getOrDefault("ranks", "2"));
    int rounds = Integer.parseInt(options.getOrDefault("rounds", "5"));
    String seconds = options.getOrDefault("seconds", "0.3");
    String sizes = options.getOrDefault("sizes", "4096,65536,1048576,16777216,67108864,268435456");
    boolean bind = Boolean.parseBoolean(options.getOrDefault("bind", "false"));
    List<Contender> contenders = new ArrayList<>();
    for (String way : options.getOrDefault("ways", "memory,copied,unix,tcp").split(",")) {
      contenders.add(new Ours(way, ranks, bind));
    }
    for (String b : beside) {
      contenders.add(new Theirs(b, ranks));
    }
    Map<String, Map<Long, List<Double>>> results = new LinkedHashMap<>();
    try {
      for (int round = 0; round < rounds; round++) {
        for (Contender c : contenders) {
          Map<Long, List<Double>> mine = results.computeIfAbsent(c.name(), n -> new TreeMap<>());
          c.run(sizes.split(","), seconds)
              .forEach((size, t) -> mine.computeIfAbsent(size, s -> new ArrayList<>()).add(t));
        }
        System.err.printf("round %d of %d%n", round + 1, rounds);
      }
    } finally {
      for (Contender c : contenders) {
        c.close();
      }
    }
    print(ranks, results);
  }

  private static void print(int ranks, Map<String, Map<Long, List<Double>>> results) {
    System.out.printf("%d ranks, microseconds (bus GB/s)%n%-10s", ranks, "bytes");
    results.keySet().forEach(name -> System.out.printf(" %20s", name));
    System.out.println();
    for (long size : results.values().iterator().next().keySet()) {
      System.out.printf("%-10d", size);
      for (Map<Long, List<Double>> byContender : results.values()) {
        double median = median(byContender.get(size));
        double bus = 2.0 * (ranks - 1) / ranks * size / median / 1e9;
        System.out.printf(Locale.ROOT, " %12.1f (%5.2f)", median * 1e6, bus);
      }
      System.out.println();
    }
  }

  private static double median(List<Double> values) {
    double[] sorted = values.stream().mapToDouble(Double::doubleValue).sorted().toArray();
    return sorted[sorted.length / 2];
  }

  /** Something that reduces, in processes of its own. */
  private interface Contender extends AutoCloseable {
    String name();

    /** Seconds per all-reduce by size. */
    Map<Long, Double> run(String[] sizes, String seconds) throws IOException;

    @Override
    void close();
  }

  /** Ranks of Millrace, which wait for orders between the rounds. */
  private static final class Ours implements Contender {
    private final String way;
    private final List<Process> processes = new ArrayList<>();
    private final List<BufferedWriter> orders = new ArrayList<>();
    private final BufferedReader answers;

    Ours(String way, int ranks, boolean bind) throws IOException {
      this.way = way;
      String job = UUID.randomUUID().toString();
      for (int r = 0; r < ranks; r++) {
        List<String> command = new ArrayList<>();
        if (bind) {
          int cores = Runtime.getRuntime().availableProcessors();
          command.addAll(List.of("taskset", "-c", Integer.toString(r % cores)));
        }
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(
            List.of(
                "--add-modules=jdk.incubator.vector",
                "--enable-native-access=ALL-UNNAMED",
                "-Xmx512m",
                "-XX:+UseSerialGC"));
        command.addAll(List.of(System.getProperty("bench.jvm", "-Dx=y").split(" ")));
        command.addAll(
            List.of(
                "-cp", System.getProperty("java.class.path"), AllReduceBenchmark.class.getName()));
        ProcessBuilder b = new ProcessBuilder(command);
        b.redirectError(ProcessBuilder.Redirect.INHERIT);
        b.environment().put("MILLRACE_RANK", Integer.toString(r));
        b.environment().put("MILLRACE_SIZE", Integer.toString(ranks));
        b.environment().put("MILLRACE_JOB", job);
        b.environment().put("MILLRACE_TRANSPORT", transport(way));
        b.environment().put("BENCHMARK_WAY", way);
        processes.add(b.start());
        orders.add(processes.get(r).outputWriter());
      }
      answers = processes.getFirst().inputReader();
      // One contender warms up at a time.
      answers.readLine();
    }

    private static String transport(String way) {
      return switch (way) {
        case "memory", "copied" -> "shared_memory";
        default -> way;
      };
    }

    @Override
    public String name() {
      return way;
    }

    @Override
    public Map<Long, Double> run(String[] sizes, String seconds) throws IOException {
      Map<Long, Double> results = new TreeMap<>();
      for (String size : sizes) {
        for (BufferedWriter o : orders) {
          o.write(size + " " + seconds + "\n");
          o.flush();
        }
        String line = answers.readLine();
        if (line == null) {
          throw new IOException("the ranks of " + way + " ended");
        }
        results.put(Long.parseLong(size), Double.parseDouble(line));
      }
      return results;
    }

    @Override
    public void close() {
      for (int r = 0; r < processes.size(); r++) {
        try {
          orders.get(r).close();
          processes.get(r).waitFor(10, java.util.concurrent.TimeUnit.SECONDS);
        } catch (IOException | InterruptedException e) {
          System.err.println(e);
        }
        processes.get(r).destroyForcibly();
      }
    }
  }

  /** Another program, started anew for every round. */
  private static final class Theirs implements Contender {
    private final String name;
    private final String command;

    Theirs(String nameAndCommand, int ranks) {
      int at = nameAndCommand.indexOf('=');
      name = nameAndCommand.substring(0, at);
      command = nameAndCommand.substring(at + 1).replace("{ranks}", Integer.toString(ranks));
    }

    @Override
    public String name() {
      return name;
    }

    @Override
    public Map<Long, Double> run(String[] sizes, String seconds) throws IOException {
      String line =
          command.replace("{seconds}", seconds).replace("{sizes}", String.join(" ", sizes));
      Process p =
          new ProcessBuilder("sh", "-c", line)
              .redirectError(ProcessBuilder.Redirect.INHERIT)
              .start();
      Map<Long, Double> results = new TreeMap<>();
      try (BufferedReader out = p.inputReader()) {
        for (String s = out.readLine(); s != null; s = out.readLine()) {
          String[] words = s.strip().split(" ");
          results.put(Long.parseLong(words[0]), Double.parseDouble(words[1]));
        }
      }
      return results;
    }

    @Override
    public void close() {}
  }

  // ---- one rank ----

  private static void runRank() throws IOException {
    boolean plain = System.getenv("BENCHMARK_WAY").equals("copied");
    try (Communicator ranks = Communicator.join(Settings.fromEnvironment());
        BufferedReader in = new BufferedReader(new java.io.InputStreamReader(System.in))) {
      warmUp(ranks, plain);
      if (ranks.rank() == 0) {
        System.out.println("ready");
        System.out.flush();
      }
      for (String order = in.readLine(); order != null; order = in.readLine()) {
        String[] words = order.split(" ");
        double t = measure(ranks, plain, Long.parseLong(words[0]), Double.parseDouble(words[1]));
        if (ranks.rank() == 0) {
          System.out.println(t);
          System.out.flush();
        }
      }
    }
  }

  private static Tensor tensor(Communicator ranks, boolean plain, long bytes) {
    Shape shape = Shape.of(bytes / 4);
    Tensor t = plain ? Tensor.allocate(DType.FLOAT, shape) : ranks.allocate(DType.FLOAT, shape);
    t.data().fill((byte) 0);
    return t;
  }

  /** Lets the compiler see all sizes; spinning ranks leave it little time otherwise. */
  private static void warmUp(Communicator ranks, boolean plain) {
    for (int i = 0; i < 3; i++) {
      for (long bytes : new long[] {4 << 10, 64 << 10, 1 << 20, 16 << 20}) {
        measure(ranks, plain, bytes, 0.2);
      }
    }
  }

  private static double measure(Communicator ranks, boolean plain, long bytes, double seconds) {
    try (Tensor t = tensor(ranks, plain, bytes)) {
      long start = System.nanoTime();
      int warm = 0;
      boolean more = true;
      while (more) {
        ranks.allReduce(t, ReduceOp.SUM);
        warm++;
        more = ranks.exchange(System.nanoTime() - start < seconds / 3 * 1e9 ? 1 : 0)[0][0] == 1;
      }
      double per = (System.nanoTime() - start) / 1e9 / warm;
      int count = (int) ranks.exchange((long) Math.clamp(seconds / per, 5, 20_000))[0][0];
      double[] times = new double[count];
      ranks.barrier();
      for (int i = 0; i < count; i++) {
        long from = System.nanoTime();
        ranks.allReduce(t, ReduceOp.SUM);
        times[i] = (System.nanoTime() - from) / 1e9;
      }
      Arrays.sort(times);
      return times[count / 2];
    }
  }
}
