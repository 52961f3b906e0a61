package dev.millrace.collective;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.collective.peers.Transport;
import dev.millrace.collective.reduce.ReduceOp;
import dev.millrace.collective.testing.Jobs;
import dev.millrace.collective.testing.Ranks;
import dev.millrace.collective.testing.Scalars;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class RingTest {
  private static void run(int size, Ranks.Body<Ring> body) {
    run(size, Transport.AUTO, s -> s, body);
  }

  private static void run(
      int size, Transport transport, UnaryOperator<Settings> change, Ranks.Body<Ring> body) {
    Ranks.run(
        Jobs.settings(size, transport),
        (rank, settings) -> {
          try (Ring ring = Ring.init(change.apply(settings))) {
            body.run(rank, ring);
          }
        });
  }

  @ParameterizedTest
  @EnumSource
  void everyOperationWorksOverEveryTransport(Transport transport) {
    run(
        3,
        transport,
        s -> s,
        (rank, ring) -> {
          Tensor sum = ring.allReduce("sum", Tensor.vector(rank, 10f * rank), ReduceOp.SUM);
          assertArrayEquals(new float[] {3, 30}, sum.toFloats());
          Tensor average = Tensor.vector(rank, 3f * rank);
          ring.allReduceInPlace("average", average, ReduceOp.AVERAGE);
          assertArrayEquals(new float[] {1, 3}, average.toFloats());
          Tensor rows = Tensor.allocate(DType.INT32, Shape.of(rank, 2));
          for (int i = 0; i < 2 * rank; i++) {
            rows.setLong(i, rank);
          }
          Tensor gathered = ring.allGather("gather", rows);
          assertEquals(Shape.of(3, 2), gathered.shape());
          assertArrayEquals(new int[] {1, 1, 2, 2, 2, 2}, gathered.toInts());
          assertEquals(7, ring.broadcast("b", Tensor.scalar(rank == 2 ? 7 : 0), 2).intValue());
          Communicator.Received got =
              ring.allToAll("a", Tensor.vector(rank, 10 + rank, 20 + rank), 0, 1, 2);
          assertArrayEquals(new long[] {rank, rank, rank}, got.splits());
          assertEquals(Shape.of(3L * rank), got.tensor().shape());
          Tensor share = ring.reduceScatter("rs", Tensor.vector(1f, 2f, 3f, 4f), ReduceOp.SUM);
          assertArrayEquals(new float[][] {{3, 6}, {9}, {12}}[rank], share.toFloats());
          List<Tensor> group =
              ring.groupedAllReduce(
                  "group", List.of(Tensor.vector(1f), Tensor.vector(2f, 3f)), ReduceOp.PRODUCT);
          assertArrayEquals(new float[] {8, 27}, group.get(1).toFloats());
          ring.barrier("end");
        });
  }

  @Test
  void ranksMaySubmitInAnyOrder() {
    int tensors = 60;
    run(
        4,
        (rank, ring) -> {
          List<Integer> order = new ArrayList<>();
          for (int i = 0; i < tensors; i++) {
            order.add(i);
          }
          Collections.shuffle(order, new Random(rank));
          List<CompletableFuture<Tensor>> results =
              new ArrayList<>(Collections.nCopies(tensors, null));
          for (int i : order) {
            Tensor t = Tensor.vector(rank, i, 1f);
            results.set(i, ring.allReduceAsync("t" + i, t, ReduceOp.SUM));
          }
          for (int i = 0; i < tensors; i++) {
            float[] sum = Operations.await(results.get(i)).toFloats();
            assertArrayEquals(new float[] {6, 4f * i, 4}, sum);
          }
        });
  }

  @ParameterizedTest
  @EnumSource(
      value = Transport.class,
      names = {"SHARED_MEMORY", "TCP"})
  void resultsDoNotDependOnWhatATensorIsFusedWith(Transport transport) {
    // Sizes on both sides of every limit, reduced alone and in whatever company.
    int[] sizes = {1, 5, 1000, 30_000, 200_000, 17, 3000};
    List<List<Tensor>> runs = new ArrayList<>();
    for (long fusion : new long[] {0, 64 << 20}) {
      List<Tensor> results = Collections.synchronizedList(new ArrayList<>());
      run(
          3,
          transport,
          s -> s.withFusionBytes(fusion),
          (rank, ring) -> {
            List<CompletableFuture<Tensor>> futures = new ArrayList<>();
            for (int i = 0; i < sizes.length; i++) {
              Tensor t = Tensor.allocate(DType.FLOAT, Shape.of(sizes[i]));
              for (int k = 0; k < sizes[i]; k++) {
                t.setDouble(k, 1.0 / (1 + (k * 31 + rank * 7919 + i) % 1009));
              }
              futures.add(ring.allReduceAsync("t" + i, t, ReduceOp.SUM));
            }
            for (CompletableFuture<Tensor> f : futures) {
              Tensor t = Operations.await(f);
              if (rank == 1) {
                results.add(t);
              }
            }
          });
      runs.add(results);
    }
    for (int i = 0; i < sizes.length; i++) {
      assertNull(Scalars.difference(runs.get(0).get(i), runs.get(1).get(i)), "tensor " + i);
    }
  }

  @Test
  void processSetsWorkBesideTheWhole() {
    run(
        4,
        (rank, ring) -> {
          ProcessSet even = ring.processSet(2, 0);
          ProcessSet odd = ring.processSet(1, 3);
          ProcessSet mine = rank % 2 == 0 ? even : odd;
          ProcessSet other = rank % 2 == 0 ? odd : even;
          assertEquals(rank / 2, mine.rank());
          assertEquals(-1, other.rank());
          for (int i = 0; i < 20; i++) {
            CompletableFuture<Tensor> all =
                ring.allReduceAsync("same name", Tensor.scalar(1f), ReduceOp.SUM);
            Tensor some = mine.allReduce("same name", Tensor.scalar((float) rank), ReduceOp.SUM);
            assertEquals(rank % 2 == 0 ? 2 : 4, some.floatValue());
            assertEquals(4, Operations.await(all).floatValue());
          }
          assertEquals(
              3, odd.rank() < 0 ? 3 : odd.broadcast("b", Tensor.scalar(rank), 1).intValue());
          MillraceException e =
              assertThrows(
                  MillraceException.class,
                  () -> other.allReduce("x", Tensor.scalar(1f), ReduceOp.SUM));
          assertEquals(Code.FAILED_PRECONDITION, e.code());
        });
  }

  @Test
  void ranksThatSubmitDifferentThingsLearnWhoSubmittedWhatAndGoOn() {
    run(
        3,
        (rank, ring) -> {
          Tensor t = rank == 1 ? Tensor.vector(1f, 2f) : Tensor.vector(1f, 2f, 3f);
          MillraceException e =
              assertThrows(MillraceException.class, () -> ring.allReduce("w", t, ReduceOp.SUM));
          assertEquals(Code.INVALID_ARGUMENT, e.code());
          assertTrue(
              e.getMessage().contains("ranks 0, 2: all-reduce SUM of float[3]")
                  && e.getMessage().contains("rank 1: all-reduce SUM of float[2]"),
              e.getMessage());
          assertEquals(3, ring.allReduce("w", Tensor.scalar(1f), ReduceOp.SUM).floatValue());
        });
  }

  @Test
  void theSameNameTwiceInFlightIsRefused() {
    run(
        2,
        (rank, ring) -> {
          Tensor t = Tensor.scalar(1f);
          CompletableFuture<Tensor> first = null;
          if (rank == 0) {
            first = ring.allReduceAsync("t", t, ReduceOp.SUM);
            MillraceException e =
                assertThrows(MillraceException.class, () -> ring.allReduce("t", t, ReduceOp.SUM));
            assertEquals(Code.ALREADY_EXISTS, e.code());
          }
          ring.barrier("both");
          first = rank == 0 ? first : ring.allReduceAsync("t", t, ReduceOp.SUM);
          assertEquals(2, Operations.await(first).floatValue());
        });
  }

  @Test
  void aMissingRankIsWarnedAboutThenTheTensorFailsForItToo() {
    LinkedBlockingQueue<String> warnings = new LinkedBlockingQueue<>();
    CountDownLatch failed = new CountDownLatch(1);
    run(
        3,
        Transport.AUTO,
        s -> s.withStall(Duration.ofSeconds(1), Duration.ofSeconds(3)),
        (rank, ring) -> {
          ring.onWarning(warnings::add);
          Tensor t = Tensor.scalar(1f);
          if (rank == 2) {
            assertTrue(failed.await(20, TimeUnit.SECONDS));
          }
          MillraceException e =
              assertThrows(MillraceException.class, () -> ring.allReduce("w", t, ReduceOp.SUM));
          assertEquals(Code.DEADLINE_EXCEEDED, e.code());
          assertTrue(e.getMessage().contains("but not by rank 2"), e.getMessage());
          if (rank == 0) {
            String warning = warnings.poll(10, TimeUnit.SECONDS);
            assertTrue(warning.contains("'w'") && warning.contains("waits for rank 2"), warning);
            failed.countDown();
          }
          assertEquals(3, ring.allReduce("w", t, ReduceOp.SUM).floatValue());
        });
  }

  @Test
  void ranksWithLessDataJoinAndContributeZeros() {
    run(
        3,
        (rank, ring) -> {
          // Rank r has r + 1 batches.
          for (int step = 0; step <= rank; step++) {
            Tensor t = ring.allReduce("g", Tensor.vector(1f, 2f), ReduceOp.SUM);
            assertEquals(3 - step, t.toFloats()[0]);
          }
          if (rank == 2) {
            MillraceException e =
                assertThrows(MillraceException.class, () -> ring.allGather("x", Tensor.vector(1f)));
            assertTrue(e.getMessage().contains("has joined"), e.getMessage());
          }
          assertEquals(2, ring.join());
          assertEquals(3, ring.allReduce("after", Tensor.scalar(1f), ReduceOp.SUM).floatValue());
        });
  }

  @Test
  void aRankThatAbortsTellsAllOthersWhy() {
    Ranks.run(
        Jobs.settings(3, Transport.AUTO),
        (rank, settings) -> {
          try (Ring ring = Ring.init(settings)) {
            if (rank == 1) {
              ring.abort(new IllegalStateException("out of luck"));
            }
            MillraceException e =
                assertThrows(
                    MillraceException.class,
                    () -> ring.allReduce("t", Tensor.scalar(1f), ReduceOp.SUM));
            assertTrue(
                e.getMessage().contains("Rank 1 failed: ")
                    && e.getMessage().contains("out of luck"),
                e.getMessage());
          }
        });
  }

  @Test
  void whoNeedsARankThatHasLeftIsTold() {
    run(
        3,
        (rank, ring) -> {
          ring.barrier("start");
          if (rank != 2) {
            MillraceException e =
                assertThrows(
                    MillraceException.class,
                    () -> ring.allReduce("t", Tensor.scalar(1f), ReduceOp.SUM));
            assertEquals(Code.FAILED_PRECONDITION, e.code());
            assertTrue(e.getMessage().contains("rank 2 left the job"), e.getMessage());
          }
        });
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void aRingOfOneIsIdentityAndHostsAreCounted(int size) {
    run(
        size,
        (rank, ring) -> {
          Tensor t = Tensor.vector(1f, 2f);
          assertEquals(size, ring.allReduce("t", t, ReduceOp.SUM).toFloats()[0]);
          assertEquals(1f, ring.allReduce("t", t, ReduceOp.AVERAGE).toFloats()[0]);
          assertEquals(rank, ring.localRank());
          assertEquals(size, ring.localSize());
          assertEquals(0, ring.crossRank());
          assertEquals(1, ring.crossSize());
          assertTrue(ring.isHomogeneous());
          Tensor mine = ring.allocate(DType.FLOAT, Shape.of(3));
          mine.data().fill((byte) 0);
          assertSame(mine, Operations.await(ring.allReduceInPlaceAsync("m", mine, ReduceOp.SUM)));
          if (size == 1) {
            assertEquals(0, ring.join());
          }
        });
  }

  @Test
  void rankZeroRecordsATimelineThatParses(@TempDir Path folder) throws IOException {
    Path file = folder.resolve("timeline.json");
    run(
        2,
        Transport.AUTO,
        s -> s.withTimeline(file),
        (rank, ring) -> {
          ring.allReduce("grad \"a\"", Tensor.scalar(1f), ReduceOp.SUM);
          ring.allGather("rows", Tensor.vector(1, 2));
          ring.barrier("end");
        });
    String text = Files.readString(file);
    assertTrue(text.startsWith("[\n{") && text.endsWith("}\n]\n"), text);
    assertTrue(text.contains("{\"name\": \"grad \\\"a\\\"\"}"), text);
    for (String event : List.of("ALL_REDUCE", "ALL_GATHER", "BARRIER")) {
      for (String name : List.of(event, "NEGOTIATE_" + event)) {
        long begins = text.lines().filter(l -> l.contains("\"B\", \"name\": \"" + name)).count();
        long ends = text.lines().filter(l -> l.contains("\"E\", \"name\": \"" + name)).count();
        assertEquals(1, begins, name);
        assertEquals(1, ends, name);
      }
    }
  }

  /** Three tensors, the middle one large enough to be reduced on its own. */
  private static final List<Shape> SEQUENCE = List.of(Shape.of(3), Shape.of(90_000), Shape.of(2));

  private static ReductionSequence sequence(Ring ring) {
    return ring.sequence("s", List.of("a", "b", "c"), DType.FLOAT, SEQUENCE, ReduceOp.AVERAGE);
  }

  private static Tensor filled(Shape shape, double value) {
    Tensor t = Tensor.allocate(DType.FLOAT, shape);
    for (int i = 0; i < shape.elements(); i++) {
      t.setDouble(i, value);
    }
    return t;
  }

  @ParameterizedTest
  @EnumSource
  void aSequenceIsReducedPassByPassInWhateverOrderItsTensorsCome(Transport transport) {
    run(
        3,
        transport,
        s -> s,
        (rank, ring) -> {
          ReductionSequence sequence = sequence(ring);
          for (int pass = 0; pass < 5; pass++) {
            List<CompletableFuture<Tensor>> results = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
              // Ranks begin with different ones.
              int which = (i + rank) % 3;
              results.add(
                  sequence.reduceAsync(
                      which, filled(SEQUENCE.get(which), rank * 3 + which + 10 * pass)));
            }
            for (int i = 0; i < 3; i++) {
              Tensor t = Operations.await(results.get(i));
              int which = (i + rank) % 3;
              assertEquals(SEQUENCE.get(which), t.shape());
              assertEquals(3 + which + 10 * pass, t.doubleAt(t.elements() - 1));
            }
            ring.barrier("between passes");
          }
        });
  }

  /** Rank 0 gives its tensor away, rank 1 keeps it. */
  @Test
  void aLargeTensorIsReducedWhereItLiesIfItMayBeOverwritten() {
    Shape shape = Shape.of(300_000);
    run(
        2,
        Transport.SHARED_MEMORY,
        s -> s,
        (rank, ring) -> {
          ReductionSequence s =
              ring.sequence(
                  "s",
                  List.of("a", "b"),
                  DType.FLOAT,
                  List.of(Shape.of(3), shape),
                  ReduceOp.AVERAGE);
          assertNull(s.room(Shape.of(3)));
          for (int pass = 0; pass < 3; pass++) {
            Tensor own = s.room(shape);
            for (int i = 0; i < shape.elements(); i++) {
              own.setDouble(i, i + 2 * rank + pass);
            }
            CompletableFuture<Tensor> small = s.reduceAsync(0, filled(Shape.of(3), rank));
            Tensor mean = Operations.await(s.reduceAsync(1, own, rank == 0));
            assertEquals(rank == 0, mean.data().address() == own.data().address());
            assertEquals(299_999 + 1 + pass, mean.doubleAt(299_999));
            assertEquals(rank == 0 ? 1 + pass : 2 + pass, own.doubleAt(0));
            assertEquals(.5, Operations.await(small).doubleAt(2));
            Refs.release(own);
            mean.close();
          }
        });
  }

  @Test
  void ranksThatMakeASequenceDifferentlyAllLearnWhoDidWhat() {
    run(
        2,
        (rank, ring) -> {
          Shape shape = Shape.of(2 + rank);
          ReductionSequence s =
              ring.sequence("s", List.of("a"), DType.FLOAT, List.of(shape), ReduceOp.SUM);
          CompletableFuture<Tensor> result = s.reduceAsync(0, filled(shape, 1));
          MillraceException e =
              assertThrows(MillraceException.class, () -> Operations.await(result));
          assertTrue(
              e.getMessage().contains("rank 0: sequence SUM of float[2]; rank 1: sequence SUM"),
              e.getMessage());
        });
  }

  @Test
  void aTensorThatNeverComesEndsTheSequenceOnAllRanks() {
    run(
        2,
        Transport.AUTO,
        s -> s.withStall(Duration.ofSeconds(1), Duration.ofSeconds(2)),
        (rank, ring) -> {
          ReductionSequence sequence = sequence(ring);
          List<CompletableFuture<Tensor>> results = new ArrayList<>();
          for (int i = 0; i < 3; i++) {
            if (rank == 0 || i != 2) {
              results.add(sequence.reduceAsync(i, filled(SEQUENCE.get(i), 1)));
            }
          }
          Operations.await(results.getFirst());
          if (rank == 0) {
            MillraceException e =
                assertThrows(MillraceException.class, () -> Operations.await(results.get(2)));
            assertTrue(e.getMessage().contains("has not submitted 'c' for 2 s"), e.getMessage());
          } else {
            assertThrows(MillraceException.class, () -> ring.barrier("after it"));
          }
        });
  }

  @Test
  void aRankWithoutMoreDataContributesZerosToSequences() {
    run(
        2,
        (rank, ring) -> {
          if (rank == 0) {
            ReductionSequence sequence = sequence(ring);
            List<CompletableFuture<Tensor>> results = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
              results.add(sequence.reduceAsync(i, filled(SEQUENCE.get(i), 8)));
            }
            for (CompletableFuture<Tensor> r : results) {
              assertEquals(4, Operations.await(r).doubleAt(0));
            }
          }
          ring.join();
        });
  }
}
