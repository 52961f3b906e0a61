package dev.millrace.train.hook;

import dev.millrace.base.MillraceException;
import dev.millrace.base.steps.Phase;
import dev.millrace.runtime.Session;
import java.util.function.BiConsumer;

/**
 * Something done around the steps of training, such as saving or logging. In the life of a training
 * session: {@link #begin} once, before the session exists; {@link #beforePreparing} on the chief
 * and {@link #afterCreateSession} whenever a session was made, also after a task was lost; {@link
 * #beforeRun} and {@link #afterRun} around every step; {@link #end} once, or {@link #abandon} if
 * training failed.
 *
 * <p>Threading: called by the thread that runs the steps.
 */
public interface SessionRunHook {
  /** The last chance to add nodes to the graph. */
  default void begin() {}

  /**
   * Called on the chief before it gives the variables their values, or finds that they have kept
   * them. It may be called several times for one session that is made.
   */
  default void beforePreparing(Session session) {}

  /**
   * The variables have their values. Threads that work beside the steps are started in {@code
   * coordinator}, which belongs to this session.
   */
  default void afterCreateSession(Session session, Coordinator coordinator) {}

  /** What this hook wants fetched, fed and run with the next step. */
  default SessionRunArgs beforeRun(SessionRunContext context) {
    return SessionRunArgs.NONE;
  }

  /**
   * The step has run. {@code values} are borrowed: they are closed when all hooks have seen them.
   */
  default void afterRun(SessionRunContext context, SessionRunValues values) {}

  /** Training has ended and the session still works. */
  default void end(Session session) {}

  /** Training has failed and ends for good; the session may not work any more. */
  default void abandon(Session session, MillraceException cause) {}

  /** Whether it comes after all others, also those that save: it says that this task is done. */
  default boolean isLast() {
    return false;
  }

  /** Tells {@code to} what this hook has measured so far, by names for a task's summaries. */
  default void figures(BiConsumer<String, Double> to) {}

  /**
   * What the time that this hook takes counts as. By default {@link #beforeRun} is input, and
   * {@link #afterRun} is other work.
   */
  default Phase phase() {
    return Phase.OTHER;
  }

  /** What a step that takes long may be waiting for on behalf of this hook; null if nothing. */
  default String waitsFor() {
    return null;
  }
}
