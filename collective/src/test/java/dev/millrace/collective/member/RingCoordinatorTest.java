package dev.millrace.collective.member;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Platform;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The coordinator and its members over real connections; see {@link JobStateTest} for time. */
class RingCoordinatorTest {
  private static final Timeouts TERMS =
      new Timeouts(Duration.ofSeconds(20), Duration.ofSeconds(20), Duration.ofSeconds(3));

  private final Token token = Token.random();
  private final List<AutoCloseable> open = new ArrayList<>();
  private RingCoordinator coordinator;

  @AfterEach
  void close() throws Exception {
    for (AutoCloseable c : open) {
      c.close();
    }
  }

  private void start(int size, Timeouts terms) {
    InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    coordinator = RingCoordinator.start(size, terms, Platform.system(), token, any, Service::none);
    open.add(coordinator);
  }

  private Member join(int rank, int size, Timeouts terms) {
    Member m =
        JoinRequest.join(
            rank, size, terms, Platform.system(), terms.join(), coordinator.address(), token);
    open.addFirst(m);
    return m;
  }

  /** The failure a member learns of. */
  private static MillraceException failureOf(Member member) throws Exception {
    CompletableFuture<MillraceException> failure = new CompletableFuture<>();
    member.onFailure(failure::complete);
    return failure.get(15, TimeUnit.SECONDS);
  }

  @Test
  void everyoneGetsWhatAllHaveGivenInOrderOfRank() throws Exception {
    start(3, TERMS);
    List<CompletableFuture<byte[][]>> all = new ArrayList<>();
    for (int r = 2; r >= 0; r--) {
      Member m = join(r, 3, TERMS);
      byte[] mine = {(byte) r};
      all.add(CompletableFuture.supplyAsync(() -> m.exchange("k", mine)));
    }
    for (CompletableFuture<byte[][]> a : all) {
      byte[][] given = a.get(15, TimeUnit.SECONDS);
      assertArrayEquals(new byte[][] {{0}, {1}, {2}}, given);
    }
  }

  // README claim: hang-ring
  @Test
  void aConnectionThatClosesWithoutAGoodbyeIsADeathNamedToAll() throws Exception {
    start(3, TERMS);
    Member a = join(0, 3, TERMS);
    Member b = join(1, 3, TERMS);
    Member c = join(2, 3, TERMS);
    long start = System.nanoTime();
    c.close();
    for (Member m : List.of(a, b)) {
      MillraceException e = failureOf(m);
      assertEquals(Code.UNAVAILABLE, e.code());
      assertTrue(e.getMessage().startsWith("Rank 2 died"), e.getMessage());
      assertSame(e, m.failure());
    }
    assertTrue(System.nanoTime() - start < TimeUnit.SECONDS.toNanos(5));
    // What happens afterwards is an echo.
    b.close();
    assertTrue(failureOf(a).getMessage().startsWith("Rank 2 died"));
  }

  @Test
  void aGoodbyeIsNoDeath() throws Exception {
    start(2, TERMS);
    Member a = join(0, 2, TERMS);
    Member b = join(1, 2, TERMS);
    b.leave();
    b.close();
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
    while (!a.hasLeft(1)) {
      assertTrue(System.nanoTime() < end, "rank 0 must learn that rank 1 has left");
      Thread.onSpinWait();
    }
    assertNull(a.failure());
    a.leave();
    assertTrue(coordinator.awaitEnd(Duration.ofSeconds(10)));
  }

  // README claim: hang-first
  @Test
  void theFirstFailureIsEverybodys() throws Exception {
    start(3, TERMS);
    Member a = join(0, 3, TERMS);
    Member b = join(1, 3, TERMS);
    join(2, 3, TERMS);
    MillraceException first = new MillraceException(Code.INTERNAL, "the first");
    assertEquals("the first", a.fail(first).getMessage());
    MillraceException own = new MillraceException(Code.INTERNAL, "something else");
    assertEquals("the first", b.fail(own).getMessage());
  }

  @Test
  void aBrokenStreamBetweenLivingRanksNamesBoth() {
    start(2, TERMS);
    Member a = join(0, 2, TERMS);
    join(1, 2, TERMS);
    MillraceException e = a.lost(1, "reset");
    assertTrue(e.getMessage().contains("Rank 0 lost its data connection to rank 1 (reset)"));
  }

  @Test
  void aRankThatComesTwiceOrWithAnotherSizeIsRefused() {
    start(2, TERMS);
    join(0, 2, TERMS);
    MillraceException twice = assertThrows(MillraceException.class, () -> join(0, 2, TERMS));
    assertEquals(Code.FAILED_PRECONDITION, twice.code());
    assertTrue(twice.getMessage().contains("has joined the job"), twice.getMessage());
    MillraceException size = assertThrows(MillraceException.class, () -> join(1, 3, TERMS));
    assertTrue(size.getMessage().contains("has 3 ranks"), size.getMessage());
  }

  @Test
  void aCoordinatorThatIsNotThereIsNamedWithItsAddress() throws IOException {
    int free;
    try (java.net.ServerSocket s = new java.net.ServerSocket(0)) {
      free = s.getLocalPort();
    }
    InetSocketAddress nowhere = InetSocketAddress.createUnresolved("127.0.0.1", free);
    MillraceException e =
        assertThrows(
            MillraceException.class,
            () ->
                JoinRequest.join(
                    1, 2, TERMS, Platform.system(), Duration.ofMillis(300), nowhere, token));
    assertEquals(Code.DEADLINE_EXCEEDED, e.code());
    assertTrue(e.getMessage().contains("127.0.0.1:" + free), e.getMessage());
  }

  @Test
  void theEndOfTheCoordinatorIsNoticed() throws Exception {
    start(1, TERMS);
    Member a = join(0, 1, TERMS);
    coordinator.close();
    MillraceException e = failureOf(a);
    assertEquals(Code.UNAVAILABLE, e.code());
    assertTrue(e.getMessage().contains("lost the job's coordinator"), e.getMessage());
  }
}
