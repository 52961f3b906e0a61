package dev.millrace.collective.testing;

import dev.millrace.base.MillraceException;
import dev.millrace.base.Platform;
import dev.millrace.collective.Ring;
import dev.millrace.collective.Settings;
import dev.millrace.collective.algorithm.Algorithms;
import dev.millrace.collective.algorithm.Collectives;
import dev.millrace.collective.algorithm.VectorParts;
import dev.millrace.collective.member.JobEntry;
import dev.millrace.collective.member.Service;
import dev.millrace.collective.peers.Connector;
import dev.millrace.collective.peers.RankPeers;
import dev.millrace.collective.reduce.ReduceOp;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.zip.CRC32;

/**
 * A rank in a process of its own, for tests: {@link #main} is what it runs, an instance is the
 * test's hold on it. It reduces tensors of several sizes, prints a line with their checksum, and
 * goes on reducing until it is told to stop or something goes wrong, which it prints. Or it reduces
 * one tensor, in the midst of which one of the ranks stands still.
 */
public final class RankProcess implements AutoCloseable {
  private static final int[] SIZES = {1, 1000, 40_000, 400_000};

  /** Seconds for which even a busy machine does not keep a process from showing that it lives. */
  private static final int PATIENT = 40;

  private final Process process;
  private final BufferedReader out;

  private RankProcess(Process process) {
    this.process = process;
    this.out = process.inputReader();
  }

  /** Starts all ranks of a job on this host. */
  public static List<RankProcess> start(int size, String transport) throws IOException {
    return start(size, transport, PATIENT);
  }

  /** Likewise with ranks that count as dead when they are silent for so many seconds. */
  public static List<RankProcess> start(int size, String transport, int liveness)
      throws IOException {
    return start(size, transport, liveness, -1, 0);
  }

  /**
   * Starts all ranks of a job on this host, which reduce one tensor in shared memory; in the midst
   * of that, when it has told others so many times that it has come to a barrier, {@code stopping}
   * prints a line and stands still.
   */
  public static List<RankProcess> startAndStop(int size, int stopping, int afterTold)
      throws IOException {
    return start(size, "shared_memory", PATIENT, stopping, afterTold);
  }

  private static List<RankProcess> start(
      int size, String transport, int liveness, int stopping, int afterTold) throws IOException {
    String job = "test-" + UUID.randomUUID();
    List<RankProcess> ranks = new ArrayList<>();
    for (int r = 0; r < size; r++) {
      ProcessBuilder b =
          new ProcessBuilder(
              Path.of(System.getProperty("java.home"), "bin", "java").toString(),
              "--add-modules=jdk.incubator.vector",
              "--enable-native-access=ALL-UNNAMED",
              "-XX:TieredStopAtLevel=1",
              "-XX:+UseSerialGC",
              "-Xmx128m",
              "-cp",
              System.getProperty("java.class.path"),
              RankProcess.class.getName());
      if (stopping >= 0) {
        b.command().add(Long.toString(r == stopping ? afterTold : Long.MAX_VALUE));
      }
      b.environment().put("MILLRACE_RANK", Integer.toString(r));
      b.environment().put("MILLRACE_SIZE", Integer.toString(size));
      b.environment().put("MILLRACE_JOB", job);
      b.environment().put("MILLRACE_TRANSPORT", transport);
      b.environment().put("MILLRACE_LIVENESS_TIMEOUT", Integer.toString(liveness));
      b.redirectError(ProcessBuilder.Redirect.INHERIT);
      ranks.add(new RankProcess(b.start()));
    }
    return ranks;
  }

  /** The next line it prints. Null at its end. */
  public String line() {
    try {
      return out.readLine();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  public long pid() {
    return process.pid();
  }

  /** Ends it as {@code kill -9} does. */
  public void kill() {
    process.destroyForcibly();
  }

  /** Tells it to leave and waits for that. */
  public int finish() throws IOException, InterruptedException {
    process.outputWriter().close();
    return process.waitFor(60, TimeUnit.SECONDS) ? process.exitValue() : -1;
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }

  public static void main(String[] args) {
    AtomicInteger told = new AtomicInteger();
    Thread.ofPlatform().daemon().start(() -> awaitEndOfInput(told));
    try {
      if (args.length == 0) {
        reduceUntilTold(told);
      } else {
        reduceAndStop(Long.parseLong(args[0]));
      }
    } catch (MillraceException e) {
      System.out.println(e.code() + " " + e.getMessage());
      System.exit(1);
    }
  }

  private static void reduceUntilTold(AtomicInteger told) {
    try (Ring ring = Ring.init(Settings.fromEnvironment())) {
      CRC32 sum = new CRC32();
      for (int n : SIZES) {
        sum.update(reduce(ring, n).data().asByteBuffer());
      }
      System.out.println("sum " + Long.toHexString(sum.getValue()));
      while (ring.allReduce("stop", Tensor.scalar(told.get()), ReduceOp.MAX).intValue() == 0) {
        reduce(ring, SIZES[SIZES.length - 1]).close();
      }
    }
  }

  private static void reduceAndStop(long afterTold) {
    Settings s = Settings.fromEnvironment();
    try (JobEntry job = JobEntry.enter(s.place(), s.terms(), Platform.system(), Service::none)) {
      job.awaitAll();
      RankPeers p =
          Connector.connect(
                  job.member(),
                  job.token(),
                  s.place(),
                  s.transport(),
                  s.terms(),
                  Platform.system(),
                  false)
              .peers();
      RankPeers own = FaultyPeers.amongMembers(p, afterTold, RankProcess::standStill);
      try (Collectives all = new Collectives(own, s.timeout(), Algorithms.DEFAULT);
          Tensor t = Tensor.allocate(DType.FLOAT, Shape.of(SIZES[SIZES.length - 1]))) {
        t.data().fill((byte) 0);
        long[] bounds = VectorParts.bounds(t.byteSize(), all.parts());
        all.allReduce(t.data(), bounds, DType.FLOAT, ReduceOp.SUM);
        all.barrier();
      }
    }
  }

  private static void standStill() {
    System.out.println("stands");
    while (true) {
      LockSupport.park();
    }
  }

  private static void awaitEndOfInput(AtomicInteger told) {
    try {
      while (System.in.read() >= 0) {}
    } catch (IOException e) {
      // The same.
    }
    told.set(1);
  }

  private static Tensor reduce(Ring ring, int n) {
    try (Tensor t = Tensor.allocate(DType.FLOAT, Shape.of(n))) {
      for (int i = 0; i < n; i++) {
        t.setDouble(i, 1.0 / (1 + (i * 31 + ring.rank() * 7919) % 1009));
      }
      return ring.allReduce("t" + n, t, ReduceOp.AVERAGE);
    }
  }
}
