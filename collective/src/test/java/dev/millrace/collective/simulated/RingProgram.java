package dev.millrace.collective.simulated;

import dev.millrace.collective.Ring;
import dev.millrace.collective.reduce.ReduceOp;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;

/** The operations that every rank of a job runs. Each checks its result. */
final class RingProgram {
  private static final int MOST_ROUNDS = 12;
  private static final int LARGE = 20_000;

  private final long seed;
  private final int size;
  private final int rounds;

  RingProgram(long seed, int size) {
    this.seed = seed;
    this.size = size;
    this.rounds = 2 + new SplittableRandom(seed).nextInt(MOST_ROUNDS);
  }

  int rounds() {
    return rounds;
  }

  /** Runs one round on a rank; throws an AssertionError if a result is wrong. */
  void run(int round, Ring ring) {
    SplittableRandom r = new SplittableRandom(seed * 31 + round);
    String name = "round" + round;
    switch (r.nextInt(6)) {
      case 0 -> group(name, ring, r);
      case 1 -> gather(name, ring, r);
      case 2 -> broadcast(name, ring, r);
      case 3 -> scatter(name, ring, r);
      case 4 -> ring.barrier(name);
      default -> sum(name, ring, r.nextInt(4) == 0 ? LARGE : 1 + r.nextInt(300));
    }
  }

  private static Tensor filled(int n, long value) {
    Tensor t = Tensor.allocate(DType.INT64, Shape.of(n));
    for (int i = 0; i < n; i++) {
      t.setLong(i, value * (i % 7 + 1));
    }
    return t;
  }

  private static void check(String what, Tensor t, int n, long value) {
    try (t) {
      require(t.shape().elements() == n, what + ": " + t.shape() + " instead of " + n);
      for (int i = 0; i < n; i++) {
        long found = t.longAt(i);
        require(found == value * (i % 7 + 1), what + "[" + i + "] is " + found);
      }
    }
  }

  private static void require(boolean condition, String what) {
    if (!condition) {
      throw new AssertionError(what);
    }
  }

  private long sumOfRanks() {
    return (long) size * (size + 1) / 2;
  }

  private void sum(String name, Ring ring, int n) {
    try (Tensor t = filled(n, ring.rank() + 1)) {
      check(name, ring.allReduce(name, t, ReduceOp.SUM), n, sumOfRanks());
    }
  }

  /** Several tensors under way at once, submitted by each rank in another order. */
  private void group(String name, Ring ring, SplittableRandom r) {
    int count = 2 + r.nextInt(6);
    int n = 1 + r.nextInt(100);
    List<Tensor> tensors = new ArrayList<>();
    List<CompletableFuture<Tensor>> sums = new ArrayList<>();
    try {
      for (int i = 0; i < count; i++) {
        int which = (i + ring.rank()) % count;
        Tensor t = filled(n, (ring.rank() + 1) * (which + 1L));
        tensors.add(t);
        sums.add(ring.allReduceAsync(name + "." + which, t, ReduceOp.SUM));
      }
      RuntimeException failure = null;
      for (int i = 0; i < count; i++) {
        int which = (i + ring.rank()) % count;
        try {
          check(name, sums.get(i).join(), n, sumOfRanks() * (which + 1));
        } catch (RuntimeException e) {
          failure = failure == null ? e : failure;
        }
      }
      if (failure != null) {
        throw failure;
      }
    } finally {
      tensors.forEach(Tensor::close);
    }
  }

  private void gather(String name, Ring ring, SplittableRandom r) {
    int rows = r.nextInt(4);
    int own = rows + ring.rank();
    try (Tensor t = Tensor.allocate(DType.INT64, Shape.of(own))) {
      for (int i = 0; i < own; i++) {
        t.setLong(i, ring.rank());
      }
      try (Tensor all = ring.allGather(name, t)) {
        int at = 0;
        for (int rank = 0; rank < size; rank++) {
          for (int i = 0; i < rows + rank; i++) {
            require(all.longAt(at++) == rank, name + ": row " + (at - 1));
          }
        }
        require(at == all.shape().elements(), name + ": " + all.shape());
      }
    }
  }

  private void broadcast(String name, Ring ring, SplittableRandom r) {
    int root = r.nextInt(size);
    int n = 1 + r.nextInt(500);
    try (Tensor t = filled(n, ring.rank() == root ? 77 : 0)) {
      check(name, ring.broadcast(name, t, root), n, 77);
    }
  }

  private void scatter(String name, Ring ring, SplittableRandom r) {
    int each = 1 + r.nextInt(50);
    try (Tensor t = Tensor.allocate(DType.INT64, Shape.of((long) each * size))) {
      for (int i = 0; i < each * size; i++) {
        t.setLong(i, i + ring.rank());
      }
      try (Tensor share = ring.reduceScatter(name, t, ReduceOp.SUM)) {
        require(share.shape().elements() == each, name + ": " + share.shape());
        for (int i = 0; i < each; i++) {
          long sum = (long) size * (ring.rank() * each + i) + sumOfRanks() - size;
          require(share.longAt(i) == sum, name + "[" + i + "] is " + share.longAt(i));
        }
      }
    }
  }
}
