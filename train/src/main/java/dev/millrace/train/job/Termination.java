package dev.millrace.train.job;

import dev.millrace.base.Timers;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What a process does when the system tells it to terminate (SIGTERM): it passes the word on, lets
 * its work come to an end for a while, and then exits with the code of that work. A second SIGTERM,
 * 2 s later or more, ends it at once. Ctrl-C ends only this process, at once, after its leave
 * message ({@link JobEnd}), unless the program wants it to do {@linkplain #alsoOnInterrupt the
 * same}.
 *
 * <p>Threading: the request runs on a thread of the system's.
 */
public final class Termination {
  private static final Logger LOG = LoggerFactory.getLogger(Termination.class);

  /** The exit code of a process that was told to terminate before its work was done. */
  public static final int TERMINATED = 143;

  /**
   * A signal this soon after another counts as the same one: it may have been sent to the process
   * group as well, or passed on by a parent.
   */
  private static final Duration REPEATED = Duration.ofSeconds(2);

  private static volatile boolean installed;

  private final CountDownLatch finished = new CountDownLatch(1);
  private final Consumer<Termination> request;
  private final Duration grace;
  private volatile int exitCode;
  private volatile boolean requested;

  /** When SIGTERM came; 0 if it has not. */
  private volatile long toldNanos;

  private Termination(Consumer<Termination> request, Duration grace) {
    this.request = request;
    this.grace = grace;
  }

  /**
   * From now on SIGTERM runs {@code request}, and the process has {@code grace} to finish. Where
   * there is nothing to wait for, the request itself may say that all is {@link #finished}.
   */
  public static Termination install(Consumer<Termination> request, Duration grace) {
    Termination t = new Termination(request, grace);
    installed = TerminateSignal.handle(t::terminate);
    if (!installed) {
      LOG.warn("SIGTERM cannot be noticed here: it will end this process without a last save.");
    }
    return t;
  }

  /** Has Ctrl-C (SIGINT) do the same, for a program whose every task saves together. */
  public Termination alsoOnInterrupt() {
    if (!TerminateSignal.handleInterrupt(this::terminate)) {
      LOG.debug("Ctrl-C cannot be noticed here: it will end this process without a last save.");
    }
    return this;
  }

  /** Whether the program handles SIGTERM by {@link #install}. */
  static boolean isInstalled() {
    return installed;
  }

  /** Whether a signal now is a second one after that at {@code toldNanos}; 0 if there was none. */
  static boolean isRepeated(long toldNanos) {
    return toldNanos != 0 && Timers.system().now() - toldNanos > REPEATED.toNanos();
  }

  /** Ends the process without a save. */
  static void endAtOnce() {
    LOG.warn("Second SIGTERM: the process ends at once, without a save.");
    Runtime.getRuntime().halt(TERMINATED);
  }

  /** Has this process do what it does on SIGTERM; without a handler of ours, it ends. */
  public static void request() {
    if (!TerminateSignal.raise()) {
      Runtime.getRuntime().halt(TERMINATED);
    }
  }

  private void terminate() {
    if (isRepeated(toldNanos)) {
      endAtOnce();
    }
    if (finished.getCount() == 0 || toldNanos != 0) {
      return;
    }
    toldNanos = Timers.system().now() | 1;
    requested = true;
    LOG.info("Told to terminate: asking the job to save and stop.");
    int code = TERMINATED;
    try {
      request.accept(this);
      if (Timers.system().await(finished, grace.toNanos())) {
        code = exitCode;
      } else {
        LOG.error("The job did not stop within {} s.", grace.toSeconds());
      }
    } catch (InterruptedException | RuntimeException e) {
      LOG.error("The job could not be asked to stop: {}", e.getMessage());
    }
    Runtime.getRuntime().halt(code);
  }

  /** Whether the process was told to terminate. */
  public boolean requested() {
    return requested;
  }

  /** The work is done; the process may exit with this code. */
  public void finished(int code) {
    exitCode = code;
    finished.countDown();
  }
}
