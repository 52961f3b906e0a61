package dev.millrace.collective;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.millrace.collective.peers.Transport;
import dev.millrace.collective.reduce.ReduceOp;
import dev.millrace.collective.testing.Jobs;
import dev.millrace.collective.testing.Ranks;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongUnaryOperator;
import org.junit.jupiter.api.Test;

class BucketTunerTest {
  private static final long BYTES = 64 << 20;
  private static final long MOST = 64 << 20;
  private static final int SIZES = 6;
  private static final int PASSES =
      BucketTuner.WARM_UP + SIZES * BucketTuner.ROUNDS * BucketTuner.TURN + 1;

  /** What it settles on if a pass with buckets of some size takes so many nanoseconds. */
  private static long settled(BucketTuner tuner, LongUnaryOperator nanos) {
    long now = Long.MAX_VALUE - 1000;
    long size = 0;
    for (int i = 0; i < PASSES; i++) {
      size = tuner.next(now);
      now += nanos.applyAsLong(size);
    }
    assertEquals(size, tuner.next(now), "still tries");
    return size;
  }

  @Test
  void theFastestSizeIsKept() {
    long best = BYTES / 2;
    BucketTuner tuner = new BucketTuner(BYTES, MOST, true);
    assertEquals(best, settled(tuner, size -> 1_000_000 + Math.abs(size - best)));
  }

  @Test
  void aProgramThatGetsFasterByItselfDoesNotMislead() {
    long best = BYTES / 4;
    BucketTuner tuner = new BucketTuner(BYTES, MOST, true);
    long[] pass = {0};
    LongUnaryOperator nanos =
        size -> (size == best ? 9_000_000 : 10_000_000) + 20_000_000 / ++pass[0];
    assertEquals(best, settled(tuner, nanos));
  }

  @Test
  void withoutAClearGainTheUsualSizeStays() {
    BucketTuner tuner = new BucketTuner(BYTES, MOST, true);
    assertEquals(BYTES / 8, settled(tuner, size -> size == BYTES ? 99_000 : 100_000));
  }

  @Test
  void nothingIsTriedUnlessAskedFor() {
    BucketTuner tuner = new BucketTuner(BYTES, MOST, false);
    for (int i = 0; i < PASSES; i++) {
      assertEquals(BYTES / 8, tuner.next(i * 1000L * (i % 7)));
    }
  }

  @Test
  void sizesStayWithinTheLimits() {
    Set<Long> seen = new TreeSet<>();
    BucketTuner tuner = new BucketTuner(BYTES, 4 << 20, true);
    for (int i = 0; i < PASSES; i++) {
      seen.add(tuner.next(i));
    }
    assertEquals(Set.of(2L << 20, 4L << 20), seen);
    assertEquals(256 << 10, new BucketTuner(1000, MOST, true).next(0));
    assertEquals(0, new BucketTuner(BYTES, 0, true).next(0));
  }

  /** Ranks of which only the first, where the negotiator is, has heard of tuning and of limits. */
  @Test
  void ranksFollowWhateverTheirOwnSettings() {
    List<Shape> shapes = Collections.nCopies(5, Shape.of(64 << 10));
    List<String> names = List.of("a", "b", "c", "d", "e");
    Ranks.run(
        Jobs.settings(3, Transport.AUTO),
        (rank, settings) -> {
          try (Ring ring =
                  Ring.init(settings.withTuning(rank == 0).withFusionBytes(rank == 0 ? MOST : 0));
              Tensor one = Tensor.allocate(DType.FLOAT, shapes.getFirst())) {
            ReductionSequence sequence =
                ring.sequence("s", names, DType.FLOAT, shapes, ReduceOp.SUM);
            for (int pass = 0; pass < PASSES; pass++) {
              one.setDouble(7, pass + rank);
              List<CompletableFuture<Tensor>> results = new ArrayList<>();
              for (int i = 0; i < shapes.size(); i++) {
                results.add(sequence.reduceAsync(i, one));
              }
              for (CompletableFuture<Tensor> r : results) {
                try (Tensor sum = Operations.await(r)) {
                  assertEquals(3 * pass + 3, sum.doubleAt(7));
                }
              }
            }
          }
        });
  }
}
