package dev.millrace.collective;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.collective.member.Packet;
import dev.millrace.collective.member.RankConfig;
import dev.millrace.collective.reduce.ReduceOp;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class NegotiatorTest {
  private static final int SIZE = 3;

  /** Orders sent, per rank. */
  private final List<List<ReductionOrder>> sent =
      List.of(new ArrayList<>(), new ArrayList<>(), new ArrayList<>());

  private final Settings settings = Settings.of(RankConfig.alone()).withFusionBytes(1000);
  private final Negotiator negotiator =
      new Negotiator(
          SIZE,
          (rank, p) -> sent.get(rank).add(ReductionOrder.unpack(Packet.of(p.toBytes()))),
          settings);

  private static Request reduce(String name, DType dtype, long elements) {
    return new Request(
        Request.Kind.ALL_REDUCE,
        name,
        List.of(),
        ReduceOp.SUM,
        0,
        dtype,
        List.of(Shape.of(elements)),
        List.of());
  }

  private void submit(int rank, Request r) {
    Packet p = Packet.empty().putByte(Negotiator.SUBMIT);
    r.write(p);
    negotiator.onMessage(rank, Packet.of(p.toBytes()));
  }

  private void submitAll(Request r) {
    for (int rank = 0; rank < SIZE; rank++) {
      submit(rank, r);
    }
  }

  private void done(long number) {
    negotiator.onMessage(
        0, Packet.of(Packet.empty().putByte(Negotiator.DONE).putLong(number).toBytes()));
  }

  private void tick() {
    negotiator.onTick(System.nanoTime());
  }

  /** The names in each run order a rank got. */
  private List<List<String>> runs(int rank) {
    return sent.get(rank).stream()
        .filter(o -> o instanceof ReductionOrder.Run)
        .map(o -> ((ReductionOrder.Run) o).requests().stream().map(Request::name).toList())
        .toList();
  }

  @Test
  void nothingRunsBeforeAllHaveSubmittedIt() {
    submit(0, reduce("a", DType.FLOAT, 4));
    submit(2, reduce("a", DType.FLOAT, 4));
    tick();
    assertEquals(List.of(), runs(0));
    submit(1, reduce("a", DType.FLOAT, 4));
    tick();
    for (int r = 0; r < SIZE; r++) {
      assertEquals(List.of(List.of("a")), runs(r));
    }
  }

  @Test
  void whatIsReadyTogetherIsFusedUpToTheLimitAndByKind() {
    submitAll(reduce("a", DType.FLOAT, 100));
    submitAll(reduce("ints", DType.INT32, 10));
    submitAll(reduce("b", DType.FLOAT, 100));
    submitAll(reduce("large", DType.FLOAT, 1000));
    submitAll(reduce("c", DType.FLOAT, 50));
    tick();
    assertEquals(List.of(List.of("a", "b", "c"), List.of("ints")), runs(1));
    done(0);
    tick();
    assertEquals(List.of("large"), runs(1).getLast());
  }

  @Test
  void onlyTwoOrdersAreOutstanding() {
    for (String name : List.of("a", "b", "c", "d")) {
      submitAll(reduce(name, DType.FLOAT, 4));
      tick();
    }
    assertEquals(List.of(List.of("a"), List.of("b")), runs(0));
    done(0);
    tick();
    assertEquals(List.of(List.of("a"), List.of("b"), List.of("c", "d")), runs(2));
  }

  @Test
  void allRanksAreToldTheSameSizeOfBuckets() {
    Request r =
        new Request(
            Request.Kind.SEQUENCE,
            "gradients",
            List.of(),
            ReduceOp.AVERAGE,
            0,
            DType.FLOAT,
            List.of(Shape.of(100), Shape.of(200)),
            List.of());
    submitAll(r);
    tick();
    for (int rank = 0; rank < SIZE; rank++) {
      ReductionOrder.Run run = (ReductionOrder.Run) sent.get(rank).getFirst();
      // The limit of these settings.
      assertArrayEquals(new long[] {1000}, run.sizes());
    }
  }

  @Test
  void onlyTheFirstRankReportsThatAnOrderIsDone() {
    submitAll(reduce("a", DType.FLOAT, 4));
    tick();
    assertTrue(((ReductionOrder.Run) sent.get(0).getFirst()).reports());
    assertEquals(false, ((ReductionOrder.Run) sent.get(1).getFirst()).reports());
  }

  @Test
  void aLeaverFailsWhatWaitsForItAndWhatComesLater() {
    submit(0, reduce("a", DType.FLOAT, 4));
    negotiator.onLeft(2);
    assertFailed(0, "rank 2 left the job");
    submit(1, reduce("b", DType.FLOAT, 4));
    assertFailed(1, "rank 2 left the job");
  }

  private void assertFailed(int rank, String part) {
    ReductionOrder.Failed f = (ReductionOrder.Failed) sent.get(rank).getLast();
    assertEquals(Code.FAILED_PRECONDITION, f.cause().code());
    assertTrue(f.cause().getMessage().contains(part), f.cause().getMessage());
  }

  @Test
  void requestsSurviveTheWire() {
    Request r =
        new Request(
            Request.Kind.ALL_TO_ALL,
            "n\u00e4me",
            List.of(1, 2),
            null,
            5,
            DType.BFLOAT16,
            List.of(Shape.scalar(), Shape.of(3, 0, 7)),
            List.of(1L, 2L));
    Packet p = Packet.empty();
    r.write(p);
    assertEquals(r, Request.read(Packet.of(p.toBytes())));
  }
}
