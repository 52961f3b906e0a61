package dev.millrace.collective.member;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Platform;
import dev.millrace.base.Timers;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.channels.UnresolvedAddressException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/** How a rank finds the coordinator of its job, which may be started later than the rank. */
final class JoinRequest {
  private static final long RETRY_MILLIS = 50;
  private static final Duration HANDSHAKE = Duration.ofSeconds(5);

  private JoinRequest() {}

  /**
   * Joins a job as one of its ranks. Tries until the coordinator answers or {@code patience} has
   * passed, and then says what it found there.
   */
  static Member join(
      int rank,
      int size,
      Timeouts terms,
      Platform platform,
      Duration patience,
      InetSocketAddress coordinator,
      Token token) {
    Timers timers = platform.timers();
    long start = timers.now();
    long end = start + patience.toNanos();
    Handshake.Hello hello = new Handshake.Hello(Handshake.Purpose.CONTROL, rank, size);
    while (true) {
      SocketChannel channel = null;
      try {
        // A fresh look-up every time: the name may become known only when its host is up.
        InetSocketAddress at =
            new InetSocketAddress(coordinator.getHostString(), coordinator.getPort());
        channel = platform.sockets().openSocketChannel();
        long left = TimeUnit.NANOSECONDS.toMillis(end - timers.now());
        channel.socket().connect(at, (int) Math.max(1, left));
        Handshake.call(channel, token, hello, platform, timers.now() + HANDSHAKE.toNanos());
        return Member.start(rank, size, terms, platform, coordinator, channel);
      } catch (IOException | UnresolvedAddressException e) {
        close(channel);
        if (timers.now() + TimeUnit.MILLISECONDS.toNanos(RETRY_MILLIS) - end >= 0) {
          throw unreachable(rank, coordinator, timers.since(start), e);
        }
        pause(timers);
      } catch (RuntimeException e) {
        close(channel);
        throw e;
      }
    }
  }

  private static MillraceException unreachable(
      int rank, InetSocketAddress coordinator, long triedNanos, Exception e) {
    String why = e.getMessage() == null ? e.toString() : e.getMessage();
    return new MillraceException(
        Code.DEADLINE_EXCEEDED,
        String.format(
            "Rank %d has tried for %d s to reach the job's coordinator at %s:%d: %s. It runs with"
                + " rank 0 or the launcher: check that this is started, that the address is right"
                + " and that all ranks have the same job token.",
            rank,
            TimeUnit.NANOSECONDS.toSeconds(triedNanos),
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

  private static void pause(Timers timers) {
    try {
      timers.sleep(TimeUnit.MILLISECONDS.toNanos(RETRY_MILLIS));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new MillraceException(Code.CANCELLED, "Interrupted while joining a job.", e);
    }
  }
}
