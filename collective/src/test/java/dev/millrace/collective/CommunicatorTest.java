package dev.millrace.collective;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Platform;
import dev.millrace.base.config.Config;
import dev.millrace.collective.member.RankConfig;
import dev.millrace.collective.member.RingCoordinator;
import dev.millrace.collective.member.Service;
import dev.millrace.collective.member.Token;
import dev.millrace.collective.peers.Transport;
import dev.millrace.collective.reduce.ReduceOp;
import dev.millrace.collective.testing.Jobs;
import dev.millrace.collective.testing.Ranks;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class CommunicatorTest {
  private static void run(List<Settings> settings, Ranks.Body<Communicator> body) {
    Ranks.run(
        settings,
        (rank, s) -> {
          try (Communicator c = Communicator.join(s)) {
            body.run(rank, c);
          }
        });
  }

  /** Ranks 0, 1 and 2 on one host, 3 and 4 on another, with memory within and TCP between. */
  private static List<Settings> onTwoHosts() {
    List<Settings> settings = new ArrayList<>();
    for (Settings s : Jobs.settings(5, Transport.AUTO)) {
      RankConfig place = s.place().onHost(s.place().rank() < 3 ? "a" : "b");
      settings.add(Settings.of(place).withTerms(s.terms()));
    }
    return settings;
  }

  @Test
  void hostsAreCountedAndReduceInTwoLevels() {
    int[] sizes = {1, 5000, 200_001};
    run(
        onTwoHosts(),
        (rank, c) -> {
          assertEquals(2, c.hosts().islands());
          assertEquals(rank < 3 ? rank : rank - 3, c.hosts().localRank(rank));
          assertEquals(rank < 3 ? 3 : 2, c.hosts().localSize(rank));
          assertEquals(rank < 3 ? 0 : 1, c.hosts().crossRank(rank));
          for (boolean shared : new boolean[] {true, false}) {
            for (int n : sizes) {
              Tensor t =
                  shared
                      ? c.allocate(DType.INT32, Shape.of(n))
                      : Tensor.allocate(DType.INT32, Shape.of(n));
              for (int i = 0; i < n; i++) {
                t.setLong(i, (long) i * (rank + 1));
              }
              c.allReduce(t, ReduceOp.SUM);
              for (int i = 0; i < n; i++) {
                assertEquals(15L * i, t.longAt(i));
              }
            }
          }
        });
  }

  @Test
  void rowsMoveBetweenHosts() {
    run(
        onTwoHosts(),
        (rank, c) -> {
          Tensor rows = Tensor.allocate(DType.INT64, Shape.of(2L * rank, 3));
          rows.data().fill((byte) 0);
          assertEquals(Shape.of(20, 3), c.allGather(rows).shape());
          Tensor b = Tensor.vector(rank, 2 * rank);
          c.broadcast(b, 4);
          assertArrayEquals(new int[] {4, 8}, b.toInts());
          Communicator.Received got = c.allToAll(Tensor.vector(0, 1, 2, 3, 4));
          assertArrayEquals(new int[] {rank, rank, rank, rank, rank}, got.tensor().toInts());
          Tensor seven = Tensor.vector(1f, 2f, 3f, 4f, 5f, 6f, 7f);
          assertEquals(rank < 2 ? 2 : 1, c.reduceScatter(seven, ReduceOp.AVERAGE).elements());
          c.barrier();
        });
  }

  /** Some are packed, and one is too large to be. */
  @ParameterizedTest
  @EnumSource(names = {"TCP", "SHARED_MEMORY"})
  void tensorsReducedInOneGoEqualThoseReducedAlone(Transport transport) {
    run(
        Jobs.settings(3, transport),
        (rank, c) -> {
          List<Tensor> together = new ArrayList<>();
          for (int n : new int[] {3, 0, 20_000, 300_001, 999, 1}) {
            Tensor t = Tensor.allocate(DType.FLOAT, Shape.of(n));
            for (int i = 0; i < n; i++) {
              t.setDouble(i, 1.0 / (1 + (i * 31 + rank * 7919) % 1009));
            }
            together.add(t);
          }
          List<Tensor> alone = together.stream().map(Refs::copy).toList();
          c.allReduce(together, ReduceOp.SUM);
          for (int i = 0; i < alone.size(); i++) {
            c.allReduce(alone.get(i), ReduceOp.SUM);
            assertArrayEquals(alone.get(i).toFloats(), together.get(i).toFloats());
          }
          Refs.releaseAll(alone);
        });
  }

  /**
   * The last rank waits for one that is held up, and not for the first, which has sent and left.
   */
  @Test
  void aRankThatIsDoneMayLeaveWhileOthersAreHeldUp() {
    CountDownLatch over = new CountDownLatch(1);
    run(
        Jobs.settings(4, Transport.TCP).stream()
            .map(s -> s.withTimeout(Duration.ofSeconds(3)))
            .toList(),
        (rank, c) -> {
          Tensor t = Tensor.scalar(7f);
          if (rank == 0) {
            c.broadcast(t, 0);
          } else if (rank == 3) {
            try {
              MillraceException e = assertThrows(MillraceException.class, () -> c.broadcast(t, 0));
              assertEquals(Code.DEADLINE_EXCEEDED, e.code(), e.getMessage());
            } finally {
              over.countDown();
            }
          } else {
            assertTrue(over.await(60, TimeUnit.SECONDS));
          }
        });
  }

  @Test
  void rowsThatDoNotMatchAreNamedOnAllRanksAndTheJobGoesOn() {
    run(
        Jobs.settings(2, Transport.UNIX),
        (rank, c) -> {
          Tensor t = Tensor.allocate(DType.FLOAT, Shape.of(1, 2 + rank));
          MillraceException e = assertThrows(MillraceException.class, () -> c.allGather(t));
          assertEquals(Code.INVALID_ARGUMENT, e.code());
          assertTrue(
              e.getMessage().contains("float[1,2]") && e.getMessage().contains("float[1,3]"),
              e.getMessage());
          c.barrier();
        });
  }

  @Test
  void theCoordinatorMayRunElsewhereAtAnAddress() {
    Token token = Token.random();
    InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    try (RingCoordinator launcher =
        RingCoordinator.start(2, Jobs.TERMS, Platform.system(), token, any, Service::none)) {
      String address = "127.0.0.1:" + launcher.address().getPort();
      List<Settings> settings = new ArrayList<>();
      for (int r = 0; r < 2; r++) {
        RankConfig place = RankConfig.of(r, 2, address, token).withCoordinatorElsewhere();
        settings.add(Settings.of(place).withTerms(Jobs.TERMS));
      }
      run(settings, (rank, c) -> c.barrier());
      assertTrue(launcher.awaitEnd(Duration.ofSeconds(10)));
    }
  }

  @Test
  void beyondLoopbackATokenIsNeeded() {
    RankConfig place = RankConfig.of(0, 2, "192.0.2.1:4000", null);
    MillraceException e =
        assertThrows(MillraceException.class, () -> Communicator.join(Settings.of(place)));
    assertEquals(Code.FAILED_PRECONDITION, e.code());
    assertTrue(e.getMessage().contains("MILLRACE_TOKEN"), e.getMessage());
  }

  @Test
  void aWrongTokenIsRefusedAtOnce() {
    Token token = Token.random();
    InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    try (RingCoordinator c =
        RingCoordinator.start(2, Jobs.TERMS, Platform.system(), token, any, Service::none)) {
      String address = "127.0.0.1:" + c.address().getPort();
      RankConfig place = RankConfig.of(1, 2, address, Token.random());
      MillraceException e =
          assertThrows(MillraceException.class, () -> Communicator.join(Settings.of(place)));
      assertEquals(Code.UNAUTHENTICATED, e.code());
    }
  }

  @Test
  void environmentVariablesChangeTheSettings() {
    Settings s =
        Settings.fromEnvironment(
            RankConfig.alone(),
            Config.of(
                Map.of(),
                Map.of(
                    "MILLRACE_TRANSPORT", "tcp",
                    "HOROVOD_FUSION_THRESHOLD", "1024",
                    "HOROVOD_AUTOTUNE", "1",
                    "MILLRACE_STALL_WARNING", "2.5",
                    "MILLRACE_LIVENESS_TIMEOUT", "3")));
    assertEquals(Transport.TCP, s.transport());
    assertEquals(1024, s.fusionBytes());
    assertTrue(s.tunes());
    assertEquals(Duration.ofMillis(2500), s.stallWarning());
    assertEquals(Duration.ofSeconds(3), s.terms().liveness());
    MillraceException e =
        assertThrows(
            MillraceException.class,
            () ->
                Settings.fromEnvironment(
                    RankConfig.alone(),
                    Config.of(Map.of(), Map.of("MILLRACE_TRANSPORT", "pigeon"))));
    assertTrue(e.getMessage().contains("pigeon"), e.getMessage());
  }
}
