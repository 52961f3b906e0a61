package dev.millrace.collective.member;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.channels.UnresolvedAddressException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/** How a rank finds the coordinator of its job, which may be started later than the rank. */
final class Enrolment {
  private static final long RETRY_MILLIS = 50;
  private static final Duration HANDSHAKE = Duration.ofSeconds(5);

  private Enrolment() {}

  /**
   * Joins a job as one of its ranks. Tries until the coordinator answers or {@code patience} has
   * passed, and then says what it found there.
   */
  static Member join(
      int rank,
      int size,
      Terms terms,
      Duration patience,
      InetSocketAddress coordinator,
      Token token) {
    long start = System.nanoTime();
    long end = start + patience.toNanos();
    Handshake.Hello hello = new Handshake.Hello(Handshake.Purpose.CONTROL, rank, size);
    while (true) {
      SocketChannel channel = null;
      try {
        // A fresh look-up every time: the name may become known only when its host is up.
        InetSocketAddress at =
            new InetSocketAddress(coordinator.getHostString(), coordinator.getPort());
        channel = SocketChannel.open();
        long left = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
        channel.socket().connect(at, (int) Math.max(1, left));
        Handshake.call(channel, token, hello, System.nanoTime() + HANDSHAKE.toNanos());
        return Member.start(rank, size, terms, coordinator, channel);
      } catch (IOException | UnresolvedAddressException e) {
        close(channel);
        if (System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(RETRY_MILLIS) >= end) {
          throw unreachable(rank, coordinator, start, e);
        }
        pause();
      } catch (RuntimeException e) {
        close(channel);
        throw e;
      }
    }
  }

  private static MillraceException unreachable(
      int rank, InetSocketAddress coordinator, long start, Exception e) {
    String why = e.getMessage() == null ? e.toString() : e.getMessage();
    return new MillraceException(
        Code.DEADLINE_EXCEEDED,
        String.format(
            "Rank %d has tried for %d s to reach the job's coordinator at %s:%d: %s. It runs with"
                + " rank 0 or the launcher: check that this is started, that the address is right"
                + " and that all ranks have the same job token.",
            rank,
            TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - start),
            coordinator.getHostString(),
            coordinator.getPort(),
            why),
        e);
  }

  private static void close(SocketChannel channel) {
    try {
      if (channel != null) {
        channel.close();
      }
    } catch (IOException e) {
      // Nobody is left to tell.
    }
  }

  private static void pause() {
    try {
      Thread.sleep(RETRY_MILLIS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new MillraceException(Code.CANCELLED, "Interrupted while joining a job.", e);
    }
  }
}
