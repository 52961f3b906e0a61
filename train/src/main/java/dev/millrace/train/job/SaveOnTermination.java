package dev.millrace.train.job;

import dev.millrace.base.Timers;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Handles SIGTERM in a process that trains, unless its program has installed a {@link Termination}.
 * Asks each training session to end, which saves. Once all are closed the process exits with {@link
 * Termination#TERMINATED}. A second SIGTERM ends the process at once. So does the first one while
 * no session is ready: there is nothing to save yet.
 *
 * <p>Threading: any thread. The signal's thread waits for the sessions, whose threads save.
 */
public final class SaveOnTermination implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(SaveOnTermination.class);

  /** How long the sessions have to save. */
  private static final Duration GRACE = Duration.ofSeconds(60);

  /** The open sessions of this process. Guarded by the class. */
  private static final Set<SaveOnTermination> OPEN = new LinkedHashSet<>();

  /** Whether this class handles the signal. Guarded by the class. */
  private static boolean handled;

  /** When SIGTERM came; 0 if it has not. */
  private static volatile long toldNanos;

  private final Runnable stop;
  private volatile boolean ready;

  private SaveOnTermination(Runnable stop) {
    this.stop = stop;
  }

  /** Registers a session, until it is closed; {@code stop} asks it to end. */
  public static SaveOnTermination of(Runnable stop) {
    SaveOnTermination session = new SaveOnTermination(stop);
    synchronized (SaveOnTermination.class) {
      if (!handled && !Termination.isInstalled()) {
        handled = TerminateSignal.handle(SaveOnTermination::terminate);
        if (!handled) {
          LOG.warn(
              "This JVM cannot handle SIGTERM: the signal will end this process without a last"
                  + " save.");
        }
      }
      OPEN.add(session);
    }
    return session;
  }

  /** Whether SIGTERM has asked the sessions of this process to end. */
  static boolean isRequested() {
    return toldNanos != 0;
  }

  /** Marks the session as ready: from now on there is something to save. */
  public void ready() {
    ready = true;
  }

  private static synchronized List<SaveOnTermination> open() {
    return List.copyOf(OPEN);
  }

  private static void terminate() {
    if (Termination.isRepeated(toldNanos)) {
      Termination.endAtOnce();
    }
    if (toldNanos != 0) {
      return;
    }
    toldNanos = Timers.system().now() | 1;
    List<SaveOnTermination> sessions = open();
    if (sessions.stream().noneMatch(s -> s.ready)) {
      LOG.info("Told to terminate (SIGTERM) before training began: there is nothing to save.");
      System.exit(Termination.TERMINATED);
    }
    LOG.info("Told to terminate (SIGTERM): training ends after this step, with a save.");
    sessions.forEach(s -> s.stop.run());
    while (!open().isEmpty() && Timers.system().now() - toldNanos < GRACE.toNanos()) {
      Timers.system().park(null, 10_000_000L);
    }
    if (!open().isEmpty()) {
      LOG.error(
          "Training did not end within {} s of SIGTERM: the process ends without a save.",
          GRACE.toSeconds());
      Runtime.getRuntime().halt(Termination.TERMINATED);
    }
    System.exit(Termination.TERMINATED);
  }

  /**
   * Unregisters a session that has saved and is closed. Exits the process after SIGTERM if this was
   * its last session: the program must not mistake training for complete.
   */
  @Override
  public void close() {
    boolean last;
    synchronized (SaveOnTermination.class) {
      last = OPEN.remove(this) && OPEN.isEmpty();
    }
    if (last && toldNanos != 0) {
      System.exit(Termination.TERMINATED);
    }
  }

  /** Unregisters a session that has failed: the program reports the failure first. */
  public void failed() {
    synchronized (SaveOnTermination.class) {
      if (toldNanos == 0) {
        OPEN.remove(this);
      }
    }
  }
}
