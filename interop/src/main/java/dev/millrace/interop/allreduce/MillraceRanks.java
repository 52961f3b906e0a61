package dev.millrace.interop.allreduce;

import dev.millrace.base.ProcessEnvironment;
import dev.millrace.base.Timers;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;

/** Ranks of Millrace, which wait for orders between the rounds. */
final class MillraceRanks implements AllReduceContender {
  private final Way way;
  private final List<Process> processes = new ArrayList<>();
  private final List<BufferedWriter> orders = new ArrayList<>();
  private final BufferedReader answers;

  /** How bytes travel, and where the vectors lie. */
  enum Way {
    /** Vectors in shared memory, reduced where they are. */
    MEMORY("shared_memory"),
    /** Vectors elsewhere, which pass through shared memory. */
    COPIED("shared_memory"),
    UNIX("unix"),
    TCP("tcp");

    final String transport;

    Way(String transport) {
      this.transport = transport;
    }
  }

  /** With {@code bind} two ranks keep to a processor each, as mpirun has it; more never do. */
  MillraceRanks(Way way, int ranks, boolean bind) throws IOException {
    this.way = way;
    String job = UUID.randomUUID().toString();
    for (int r = 0; r < ranks; r++) {
      ProcessBuilder b = new ProcessBuilder(command(r, bind && ranks == 2));
      b.redirectError(ProcessBuilder.Redirect.INHERIT);
      b.environment().put("MILLRACE_RANK", Integer.toString(r));
      b.environment().put("MILLRACE_SIZE", Integer.toString(ranks));
      b.environment().put("MILLRACE_JOB", job);
      b.environment().put("MILLRACE_TRANSPORT", way.transport);
      processes.add(b.start());
      orders.add(processes.get(r).outputWriter());
    }
    answers = processes.getFirst().inputReader();
    // One contender warms up at a time.
    answers.readLine();
  }

  private List<String> command(int rank, boolean bind) {
    List<String> command = new ArrayList<>();
    if (bind) {
      int cores = Runtime.getRuntime().availableProcessors();
      command.addAll(List.of("taskset", "-c", Integer.toString(rank % cores)));
    }
    command.add(ProcessEnvironment.java().toString());
    command.addAll(
        List.of(
            "--add-modules=jdk.incubator.vector",
            "--enable-native-access=ALL-UNNAMED",
            "-Xmx512m",
            "-XX:+UseSerialGC",
            "-cp",
            ProcessEnvironment.classPath(),
            BenchmarkRank.class.getName(),
            way.name()));
    return command;
  }

  @Override
  public String name() {
    return "Millrace, "
        + switch (way) {
          case MEMORY -> "vectors in shared memory";
          case COPIED -> "shared memory";
          case UNIX -> "Unix sockets";
          case TCP -> "TCP";
        };
  }

  @Override
  public double run(long bytes, double seconds) throws IOException {
    for (BufferedWriter o : orders) {
      o.write(bytes + " " + seconds + "\n");
      o.flush();
    }
    String line = answers.readLine();
    if (line == null) {
      throw new IOException("the ranks of " + name() + " ended");
    }
    return Double.parseDouble(line);
  }

  @Override
  public void close() {
    for (int r = 0; r < processes.size(); r++) {
      try {
        orders.get(r).close();
        Timers.system().join(processes.get(r), TimeUnit.SECONDS.toNanos(10));
      } catch (IOException | InterruptedException e) {
        System.err.println(e);
      }
      processes.get(r).destroyForcibly();
    }
  }
}
