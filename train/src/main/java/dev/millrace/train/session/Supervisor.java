package dev.millrace.train.session;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Scope;
import dev.millrace.runtime.Session;
import dev.millrace.train.GlobalStep;
import dev.millrace.train.checkpoint.CheckpointFolder;
import dev.millrace.train.hook.CheckpointSaverHook;
import dev.millrace.train.hook.Coordinator;
import dev.millrace.train.hook.Schedule;
import dev.millrace.train.hook.SessionFactory;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Variables;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;

/**
 * Training for programs that run their steps on the plain session: it starts the session as a
 * {@link MonitoredTrainingSession} does, fills the graph's queues, and, as chief of a job with a
 * folder, saves on a thread of its own.
 *
 * <pre>{@code
 * Supervisor supervisor = new Supervisor(scope, settings);
 * supervisor.managedSession(
 *     LocalSession::new,
 *     session -> {
 *       while (!supervisor.shouldStop()) {
 *         session.run(train);
 *       }
 *     });
 * }</pre>
 *
 * <p>It does not go on by itself after a task was lost: the caller's step fails, and so does {@link
 * #managedSession}, which may be called again. Hooks of the settings are not used.
 *
 * <p>Threading: {@link #shouldStop} and {@link #requestStop} may be called by any thread.
 */
public final class Supervisor {
  private final Scope scope;
  private final TrainingSettings settings;
  private final Scaffold scaffold;
  private final Readiness global;
  private volatile Coordinator coordinator = new Coordinator();

  /**
   * Supervises training on the graph of {@code scope}, to which nothing may be added afterwards.
   */
  public Supervisor(Scope scope, TrainingSettings settings) {
    this.scope = scope;
    this.settings = settings;
    this.scaffold = Scaffold.DEFAULT.completed(scope, isSaving());
    this.global = new Readiness(scope.withoutColocation(), Variables.global(scope.graph()));
  }

  private boolean isSaving() {
    return settings.chief() && settings.folder() != null;
  }

  /** Whether training is to end. */
  public boolean shouldStop() {
    return coordinator.shouldStop();
  }

  /** Asks training to end. */
  public void requestStop() {
    coordinator.requestStop();
  }

  /** The threads beside the caller's; it may add its own while its session lasts. */
  public Coordinator coordinator() {
    return coordinator;
  }

  /**
   * Runs {@code body} with a session whose variables have their values, and closes it. The chief
   * saves once more when the body has ended well. What the body or a thread beside it throws is
   * thrown, whichever was first; running out of data ends training in peace.
   */
  public void managedSession(SessionFactory factory, Consumer<Session> body) {
    Coordinator threads = new Coordinator(settings.platform());
    coordinator = threads;
    try (ChiefLock lock = isSaving() ? ChiefLock.take(settings.folder()) : null) {
      if (lock != null) {
        CheckpointFolder.removeLeftOvers(settings.folder());
      }
      SessionStarter starter =
          new SessionStarter(
              scope.graph(),
              factory,
              scaffold,
              global,
              new SessionStarter.Task(
                  settings.chief(),
                  settings.chiefName(),
                  settings.folder(),
                  null,
                  settings.maxWait(),
                  settings.recovers(),
                  List.of(),
                  settings.platform()));
      try (Session session = starter.first()) {
        CheckpointSaverHook saver = lock == null ? null : saver();
        QueueRunner.of(scope.graph()).forEach(q -> q.afterCreateSession(session, threads));
        if (saver != null) {
          saver.afterCreateSession(session, threads);
          threads.start("millrace-saver", () -> saveOnSchedule(session, threads, saver));
        }
        run(body, session, threads);
        if (saver != null && threads.failure() == null) {
          save(session, saver);
        }
      }
    }
  }

  private CheckpointSaverHook saver() {
    GraphVariable step = GlobalStep.find(scope.graph());
    if (step == null) {
      throw MillraceException.invalid(
          "The graph has no global step, which saving in %s needs. Make one with GlobalStep.of.",
          settings.folder());
    }
    return new CheckpointSaverHook(
        step,
        scaffold.saver(),
        settings.folder().resolve(CheckpointSaverHook.NAME),
        Schedule.never(),
        null);
  }

  private void run(Consumer<Session> body, Session session, Coordinator threads) {
    try {
      body.accept(session);
      threads.requestStop();
    } catch (RuntimeException e) {
      MillraceException cause = MillraceException.of(e);
      threads.requestStop(cause.code() == Code.OUT_OF_RANGE ? null : cause);
    }
    threads.join(settings.stopGrace());
  }

  private void saveOnSchedule(Session session, Coordinator threads, CheckpointSaverHook saver)
      throws InterruptedException {
    Duration every =
        settings.saveEvery() == null ? TrainingSettings.DEFAULT.saveEvery() : settings.saveEvery();
    while (!threads.awaitStop(every)) {
      save(session, saver);
    }
  }

  /** One at a time: the last save may find the thread still at its own. */
  private static void save(Session session, CheckpointSaverHook saver) {
    synchronized (saver) {
      saver.end(session);
    }
  }
}
