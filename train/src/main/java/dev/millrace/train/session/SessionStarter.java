package dev.millrace.train.session;

import dev.millrace.base.Backoff;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Platform;
import dev.millrace.base.Timers;
import dev.millrace.graph.Graph;
import dev.millrace.runtime.RunOptions;
import dev.millrace.runtime.Session;
import dev.millrace.train.hook.SessionFactory;
import dev.millrace.train.hook.SessionRunHook;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes sessions whose variables have their values. The chief restores them from the latest
 * checkpoint or initialises them; any other task waits until the chief has. A start that fails
 * because a task cannot be reached is tried again until the time is over.
 */
final class SessionStarter {
  private static final Logger LOG = LoggerFactory.getLogger(SessionStarter.class);
  private static final Duration FIRST_PAUSE = Duration.ofMillis(50);
  private static final Duration LONGEST_PAUSE = Duration.ofSeconds(1);
  private static final long REPORT_NANOS = 5_000_000_000L;
  private static final int NAMED = 3;

  /**
   * Who starts what.
   *
   * @param folder where the checkpoints are; null for none
   * @param mark by which a chief knows its job again; null for a job without a folder
   * @param recovers whether a task that cannot be reached may come back
   * @param hooks told before the chief prepares the model
   * @param platform by whose clock to wait
   */
  record Task(
      boolean chief,
      String chiefName,
      Path folder,
      JobMarker mark,
      Duration maxWait,
      boolean recovers,
      List<SessionRunHook> hooks,
      Platform platform) {}

  private final Graph graph;
  private final SessionFactory factory;
  private final Scaffold scaffold;
  private final Readiness global;
  private final Task task;

  SessionStarter(
      Graph graph, SessionFactory factory, Scaffold scaffold, Readiness global, Task task) {
    this.graph = graph;
    this.factory = factory;
    this.scaffold = scaffold;
    this.global = global;
    this.task = task;
  }

  /**
   * The first session of this process: the chief decides what the variables start with. If it is
   * the second process that is chief of this job, and nothing was lost, they stay as they are.
   */
  Session first() {
    return start(true);
  }

  /** A session in place of one that was lost. Variables that all survived keep their values. */
  Session again() {
    return start(false);
  }

  /** A session on variables in whatever state they are, to say that training has failed. */
  Session last() {
    return factory.open(graph);
  }

  private Session start(boolean fresh) {
    Wait wait = new Wait(task.maxWait, task.platform);
    while (true) {
      Session session = null;
      MillraceException problem;
      try {
        session = factory.open(graph);
        if (task.chief) {
          prepare(session, fresh);
        } else {
          awaitChief(session, wait);
        }
        session.run(scaffold.localInitializer());
        return session;
      } catch (MillraceException e) {
        closeQuietly(session);
        if (!task.recovers || !isPassing(e)) {
          throw e;
        }
        problem = e;
      }
      wait.pause(problem.getMessage(), problem);
    }
  }

  /** Whether a failure may go away by itself: a task is not there, or was lost in the middle. */
  static boolean isPassing(MillraceException e) {
    return switch (e.code()) {
      case UNAVAILABLE, ABORTED, DEADLINE_EXCEEDED -> true;
      default -> false;
    };
  }

  private void prepare(Session session, boolean fresh) {
    task.hooks.forEach(h -> h.beforePreparing(session));
    if (isOwn(session, fresh) && missing(session).isEmpty()) {
      LOG.info("All variables kept their values; training goes on where it was.");
      return;
    }
    if (task.mark != null) {
      task.mark.clear(session);
    }
    Optional<Path> restored =
        task.folder == null || scaffold.saver() == null
            ? Optional.empty()
            : scaffold.saver().restoreLatest(session, task.folder);
    if (restored.isEmpty()) {
      if (!fresh) {
        LOG.warn(
            "Variables were lost and there is no checkpoint: training restarts from the"
                + " beginning.");
      }
      session.run(scaffold.initializer());
      if (scaffold.afterInitialize() != null) {
        scaffold.afterInitialize().accept(session);
      }
    }
    List<String> missing = missing(session);
    if (!missing.isEmpty()) {
      throw MillraceException.failedPrecondition(
          "The model is not ready: after %s, %d variables have no value: %s. Initialise them in the"
              + " scaffold, or save them with the others.",
          restored
              .map(p -> "restoring " + p)
              .orElse("running '" + scaffold.initializer().name() + "'"),
          missing.size(),
          some(missing));
    }
    if (task.mark != null) {
      task.mark.set(session);
    }
  }

  /** Whether variables that have values were given them by this job. */
  private boolean isOwn(Session session, boolean fresh) {
    return task.mark == null ? !fresh : task.mark.isSet(session);
  }

  private List<String> missing(Session session) {
    return global.missing(session, RunOptions.DEFAULT.withTimeout(task.maxWait));
  }

  private void awaitChief(Session session, Wait wait) {
    for (List<String> missing = missing(session); !missing.isEmpty(); missing = missing(session)) {
      wait.pause(
          "Waiting for the chief, "
              + task.chiefName
              + ", to initialise or restore the model; "
              + missing.size()
              + " variables have no value: "
              + some(missing)
              + ".",
          null);
    }
  }

  /** The first few names. */
  static String some(List<String> names) {
    return names.size() <= NAMED
        ? names.toString()
        : names.subList(0, NAMED) + " and " + (names.size() - NAMED) + " more";
  }

  private static void closeQuietly(Session session) {
    if (session != null) {
      try {
        session.close();
      } catch (MillraceException e) {
        LOG.debug("Closing a session that failed to start: {}", e.getMessage());
      }
    }
  }

  /** Patience with a limit: longer and longer pauses, a word now and then, an end. */
  private static final class Wait {
    private final Duration limit;
    private final Timers timers;
    private final long start;
    private long reported;
    private final Backoff backoff;

    Wait(Duration limit, Platform platform) {
      this.limit = limit;
      this.timers = platform.timers();
      this.start = timers.now();
      this.reported = start;
      this.backoff = new Backoff(platform, FIRST_PAUSE, LONGEST_PAUSE);
    }

    void pause(String what, MillraceException cause) {
      long now = timers.now();
      if (now - start > limit.toNanos()) {
        throw new MillraceException(
            Code.DEADLINE_EXCEEDED,
            "The training session could not be started within " + limit.toSeconds() + " s. " + what,
            cause);
      }
      if (now - reported > REPORT_NANOS) {
        reported = now;
        LOG.warn("Not started for {} s: {}", (now - start) / 1_000_000_000L, what);
      }
      if (Thread.interrupted()) {
        Thread.currentThread().interrupt();
        throw new MillraceException(Code.CANCELLED, "Interrupted while starting: " + what);
      }
      backoff.pause();
    }
  }
}
