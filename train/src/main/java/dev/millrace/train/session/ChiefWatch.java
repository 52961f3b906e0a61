package dev.millrace.train.session;

import dev.millrace.base.Backoff;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Platform;
import dev.millrace.base.context.Context;
import dev.millrace.runtime.Session;
import dev.millrace.train.checkpoint.CheckpointFolder;
import dev.millrace.train.hook.Coordinator;
import dev.millrace.train.hook.SessionRunHook;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Checks the liveness of the chief, on the other tasks. Asynchronous workers train on without a
 * chief, but nothing is saved then. This logs a warning, less and less often, until the chief is
 * back.
 *
 * <p>Threading: checks on a thread of the session's coordinator.
 */
final class ChiefWatch implements SessionRunHook {
  private static final Logger LOG = LoggerFactory.getLogger(ChiefWatch.class);
  private static final Duration PERIOD = Duration.ofSeconds(3);
  private static final Duration LIMIT = Duration.ofSeconds(2);
  private static final Duration FIRST_REPORT = Duration.ofSeconds(10);
  private static final Duration LONGEST_REPORT = Duration.ofMinutes(1);

  private final String chief;
  private final Path folder;
  private volatile Platform platform = Context.current().platform();
  private Backoff reports;
  private long nextReport;

  /** Watches {@code chief}, which saves in {@code folder}; null if the folder is not known. */
  ChiefWatch(String chief, Path folder) {
    this.chief = chief;
    this.folder = folder;
  }

  @Override
  public void afterCreateSession(Session session, Coordinator coordinator) {
    platform = coordinator.platform();
    coordinator.start("millrace-chief-watch", () -> watch(session, coordinator));
  }

  private void watch(Session session, Coordinator coordinator) throws InterruptedException {
    while (!coordinator.awaitStop(PERIOD)) {
      try {
        String reason = session.silentTasks(List.of(chief), LIMIT).get(chief);
        if (!coordinator.shouldStop()) {
          report(reason);
        }
      } catch (MillraceException e) {
        LOG.debug("Cannot check whether {} answers: {}", chief, e.getMessage());
      }
    }
  }

  /**
   * Logs a change of the chief's liveness; called by one thread at a time.
   *
   * @param reason why the chief does not answer; null if it does
   */
  private synchronized void report(String reason) {
    if (reason == null) {
      if (reports != null) {
        reports = null;
        LOG.info("The chief, {}, answers again.", chief);
      }
      return;
    }
    long now = platform.timers().now();
    if (reports == null) {
      reports = new Backoff(platform, FIRST_REPORT, LONGEST_REPORT);
    } else if (now - nextReport < 0) {
      return;
    }
    nextReport = now + reports.nextNanos();
    LOG.warn(
        "The chief, {}, does not answer ({}): nothing is saved until it is back.{} Start it again:"
            + " it resumes where the others are.",
        chief,
        reason,
        lastCheckpoint());
  }

  private String lastCheckpoint() {
    if (folder == null) {
      return "";
    }
    try {
      Path latest = CheckpointFolder.latest(folder).orElse(null);
      if (latest == null) {
        return " There is no checkpoint in " + folder + ".";
      }
      Instant saved =
          Files.getLastModifiedTime(latest.resolveSibling(latest.getFileName() + ".index"))
              .toInstant();
      return " The last checkpoint, "
          + latest.getFileName()
          + ", was saved "
          + Math.max(0, Duration.between(saved, platform.timers().wallTime()).toSeconds())
          + " s ago.";
    } catch (IOException | RuntimeException e) {
      return " The age of the last checkpoint is unknown: " + e.getMessage() + ".";
    }
  }
}
