package dev.millrace.cluster.collective;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.base.config.ClusterSettings;
import dev.millrace.base.context.Context;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** How long one run of a collective may take in all, and what is said while it waits. */
final class CollectiveDeadline {
  private static final Logger LOG = LoggerFactory.getLogger(CollectiveDeadline.class);

  /** For operations that say nothing themselves. */
  static Duration usual() {
    return Context.current().config().get(ClusterSettings.COLLECTIVE_TIMEOUT);
  }

  private static final Duration REPORT = Duration.ofSeconds(30);

  private static final Duration GRACE = Duration.ofSeconds(5);

  private final String who;
  private final Duration limit;
  private final Timers timers;
  private final long startNanos;

  /** The patience of {@code who} of this length; zero means the default. */
  CollectiveDeadline(String who, Duration limit, Timers timers) {
    this.timers = timers;
    this.startNanos = timers.now();
    this.who = who;
    this.limit = limit.isZero() ? usual() : limit;
  }

  /** What a call may take: a little more than is left, so that the message is the one from here. */
  Duration callLimit() {
    return Duration.ofNanos(leftNanos()).plus(GRACE);
  }

  private long leftNanos() {
    return Math.max(1_000_000, limit.toNanos() - waitedNanos());
  }

  private long waitedNanos() {
    return timers.now() - startNanos;
  }

  /**
   * Waits for {@code future}, which is {@code what} in messages; ends it if that takes too long.
   */
  <T> T await(CompletableFuture<T> future, String what) {
    while (true) {
      try {
        return timers.get(future, Math.min(REPORT.toNanos(), leftNanos()));
      } catch (ExecutionException e) {
        throw MillraceException.of(e);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new MillraceException(Code.CANCELLED, who + " was interrupted.", e);
      } catch (TimeoutException e) {
        String waited =
            String.format(
                Locale.ROOT, "%s has waited %.1f s for %s", who, waitedNanos() / 1e9, what);
        if (waitedNanos() >= limit.toNanos()) {
          MillraceException late =
              new MillraceException(
                  Code.DEADLINE_EXCEEDED,
                  waited
                      + ". Its limit is timeout_seconds or -Dmillrace.collective.timeout.seconds.");
          future.completeExceptionally(late);
          throw late;
        }
        LOG.warn("{}.", waited);
      }
    }
  }
}
