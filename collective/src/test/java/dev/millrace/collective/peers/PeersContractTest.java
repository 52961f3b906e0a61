package dev.millrace.collective.peers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Platform;
import dev.millrace.collective.Settings;
import dev.millrace.collective.member.JobEntry;
import dev.millrace.collective.member.Service;
import dev.millrace.collective.testing.Jobs;
import dev.millrace.collective.testing.Ranks;
import dev.millrace.tensor.Buffer;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What {@link RankPeers} promises, asked of every implementation. */
class PeersContractTest {
  private static final ValueLayout.OfByte BYTE = ValueLayout.JAVA_BYTE;
  private static final int SIZE = 3;

  enum Kind {
    THREADS,
    SHARED_MEMORY,
    UNIX,
    TCP
  }

  /** Runs {@code body} on all ranks of a job of three whose peers are of this kind. */
  private static void run(Kind kind, Ranks.Body<RankPeers> body) {
    if (kind == Kind.THREADS) {
      Ranks.run(ThreadPeers.together(SIZE, 1 << 20), body);
      return;
    }
    Ranks.run(
        Jobs.settings(SIZE, Transport.valueOf(kind.name())),
        (rank, s) -> {
          try (JobEntry job =
              JobEntry.enter(s.place(), s.terms(), Platform.system(), Service::none)) {
            job.awaitAll();
            RankPeers peers = connect(job, s);
            body.run(rank, peers);
            // Nobody closes before all are done.
            job.member().exchange("done", new byte[0]);
            peers.close();
          }
        });
  }

  private static RankPeers connect(JobEntry job, Settings s) {
    return Connector.connect(
            job.member(),
            job.token(),
            s.place(),
            s.transport(),
            s.terms(),
            Platform.system(),
            false)
        .peers();
  }

  private static MemorySegment memory(long bytes) {
    return Arena.ofAuto().allocate(bytes, 64);
  }

  private static void pauseUnless(boolean moved, RankPeers peers) {
    if (!moved) {
      peers.park(1_000_000);
    }
  }

  @ParameterizedTest
  @EnumSource
  void bytesArriveInOrderHoweverTheyAreCut(Kind kind) {
    int total = 3_000_000;
    run(
        kind,
        (rank, peers) -> {
          Random cut = new Random(rank);
          MemorySegment out = memory(total);
          for (int i = 0; i < total; i++) {
            out.set(BYTE, i, value(rank, i));
          }
          MemorySegment[] in = {memory(total), memory(total), memory(total)};
          long[] sent = new long[SIZE];
          long[] got = new long[SIZE];
          boolean open = true;
          while (open) {
            boolean moved = false;
            open = false;
            for (int r = 0; r < SIZE; r++) {
              if (r != rank) {
                long s = Math.min(total - sent[r], 1 + cut.nextInt(100_000));
                s = s == 0 ? 0 : send(peers, r, out.asSlice(sent[r], s), cut.nextInt(-200, 200));
                long g = Math.min(total - got[r], 1 + cut.nextInt(100_000));
                g = g == 0 ? 0 : peers.receive(r, in[r], got[r], g);
                sent[r] += s;
                got[r] += g;
                moved |= s + g > 0;
                open |= sent[r] < total || got[r] < total;
              }
            }
            pauseUnless(moved, peers);
          }
          for (int r = 0; r < SIZE; r++) {
            for (int i = 0; r != rank && i < total; i++) {
              assertEquals(value(r, i), in[r].get(BYTE, i));
            }
          }
        });
  }

  /** As a whole, or as a head of so many bytes and what follows it. */
  private static long send(RankPeers peers, int to, MemorySegment data, int head) {
    return head <= 0 || head >= data.byteSize()
        ? peers.send(to, data, 0, data.byteSize())
        : peers.send(to, data.asSlice(0, head), data.asSlice(head));
  }

  private static byte value(int rank, int i) {
    return (byte) (rank * 7 + i * 31 + (i >> 8));
  }

  @ParameterizedTest
  @EnumSource
  void aFullStreamTakesNothingUntilTheOtherSideReads(Kind kind) {
    run(
        kind,
        (rank, peers) -> {
          MemorySegment chunk = memory(1 << 20);
          if (rank == 0) {
            long sent = 0;
            int refusals = 0;
            while (refusals < 100) {
              long n = peers.send(1, chunk, 0, chunk.byteSize());
              sent += n;
              refusals = n == 0 ? refusals + 1 : 0;
              assertTrue(sent < 1L << 30, "a stream without a limit");
            }
            MemorySegment size = memory(8);
            size.set(ValueLayout.JAVA_LONG, 0, sent);
            sendAll(peers, 2, size);
          } else if (rank == 2) {
            MemorySegment size = memory(8);
            receiveAll(peers, 0, size);
            sendAll(peers, 1, size);
          } else {
            MemorySegment size = memory(8);
            receiveAll(peers, 2, size);
            long left = size.get(ValueLayout.JAVA_LONG, 0);
            while (left > 0) {
              long n = peers.receive(0, chunk, 0, Math.min(left, chunk.byteSize()));
              left -= n;
              pauseUnless(n > 0, peers);
            }
            assertEquals(0, peers.receive(0, chunk, 0, 1), "nothing is left");
          }
        });
  }

  private static void sendAll(RankPeers peers, int to, MemorySegment data) {
    for (long at = 0; at < data.byteSize(); ) {
      long n = peers.send(to, data, at, data.byteSize() - at);
      at += n;
      pauseUnless(n > 0, peers);
    }
  }

  private static void receiveAll(RankPeers peers, int from, MemorySegment data) {
    for (long at = 0; at < data.byteSize(); ) {
      long n = peers.receive(from, data, at, data.byteSize() - at);
      at += n;
      pauseUnless(n > 0, peers);
    }
  }

  @ParameterizedTest
  @EnumSource
  void nothingSentIsNothingReceived(Kind kind) {
    run(
        kind,
        (rank, peers) -> {
          assertEquals(SIZE, peers.size());
          assertEquals(rank, peers.rank());
          assertEquals(0, peers.receive((rank + 1) % SIZE, memory(64), 0, 64));
          long start = System.nanoTime();
          peers.park(20_000_000);
          assertTrue(System.nanoTime() - start < 10_000_000_000L, "park must end by itself");
          assertNull(peers.liveness().failure());
          assertTrue(peers.describe(1).startsWith("rank 1"));
        });
  }

  @ParameterizedTest
  @EnumSource
  void ranksOnOneHostShareMemoryOnlyWhereTheTransportSaysSo(Kind kind) {
    boolean shares = kind == Kind.THREADS || kind == Kind.SHARED_MEMORY;
    run(
        kind,
        (rank, peers) -> {
          assertEquals(shares ? 1 : SIZE, peers.topology().islands());
          assertEquals(shares, peers.island() != null);
          if (shares) {
            Buffer b = peers.island().allocate(1000);
            assertNotNull(b);
            long at = peers.island().offsetOf(b.memory());
            peers.island().memory().set(BYTE, at, (byte) 7);
            assertEquals(7, b.memory().get(BYTE, 0));
            b.release();
          }
        });
  }
}
