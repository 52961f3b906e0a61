package dev.millrace.interop.allreduce;

import dev.millrace.base.Timers;
import dev.millrace.collective.Communicator;
import dev.millrace.collective.Settings;
import dev.millrace.collective.reduce.ReduceOp;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.Arrays;

/**
 * One rank of {@link MillraceRanks}: reads orders of the form {@code bytes seconds}; rank 0 answers
 * with the median of the calls in seconds, as the programs it is compared with do.
 */
public final class BenchmarkRank {
  private final Communicator ranks;

  /** Whether vectors lie in memory of this process alone. */
  private final boolean plain;

  private BenchmarkRank(Communicator ranks, boolean plain) {
    this.ranks = ranks;
    this.plain = plain;
  }

  public static void main(String[] args) throws IOException {
    try (Communicator ranks = Communicator.join(Settings.fromEnvironment());
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in))) {
      BenchmarkRank rank = new BenchmarkRank(ranks, args[0].equals("COPIED"));
      rank.warmUp();
      rank.say("ready");
      for (String order = in.readLine(); order != null; order = in.readLine()) {
        String[] words = order.split(" ");
        double t = rank.measure(Long.parseLong(words[0]), Double.parseDouble(words[1]));
        rank.say(Double.toString(t));
      }
    }
  }

  private void say(String line) {
    if (ranks.rank() == 0) {
      System.out.println(line);
      System.out.flush();
    }
  }

  /** Lets the compiler see all sizes; spinning ranks leave it little time otherwise. */
  private void warmUp() {
    for (int i = 0; i < 3; i++) {
      for (long bytes : new long[] {4 << 10, 64 << 10, 1 << 20, 16 << 20}) {
        measure(bytes, 0.2);
      }
    }
  }

  private double measure(long bytes, double seconds) {
    Shape shape = Shape.of(bytes / 4);
    try (Tensor t =
        plain ? Tensor.allocate(DType.FLOAT, shape) : ranks.allocate(DType.FLOAT, shape)) {
      t.data().fill((byte) 0);
      long start = Timers.system().now();
      int warm = 0;
      boolean more = true;
      while (more) {
        ranks.allReduce(t, ReduceOp.SUM);
        warm++;
        more = firstRanks(Timers.system().now() - start < seconds / 3 * 1e9 ? 1 : 0) == 1;
      }
      double per = (Timers.system().now() - start) / 1e9 / warm;
      int count = (int) firstRanks((long) Math.clamp(seconds / per, 5, 20_000));
      double[] times = new double[count];
      ranks.barrier();
      for (int i = 0; i < count; i++) {
        long from = Timers.system().now();
        ranks.allReduce(t, ReduceOp.SUM);
        times[i] = (Timers.system().now() - from) / 1e9;
      }
      Arrays.sort(times);
      return times[count / 2];
    }
  }

  /** The value rank 0 gives. */
  private long firstRanks(long value) {
    try (Tensor t = Tensor.scalar(value)) {
      ranks.broadcast(t, 0);
      return t.longAt(0);
    }
  }
}
