package dev.millrace.job.ending;

import dev.millrace.train.hook.SessionRunContext;

/**
 * Why a task of a job ends before the last step: it was told to stop, or the model no longer gets
 * better. Ranks of a ring must end after the same step, so each says in every step what it knows,
 * and all follow what any of them says.
 *
 * <p>Threading: used by the thread of the steps.
 */
public final class TaskEnding {
  private static final long CONTINUE = 0;
  private static final long STOP = 1;
  private static final long EARLY = 2;

  private final StopSwitch stop;
  private final boolean ring;

  /** Whether this task has decided to end early. */
  private boolean decided;

  private boolean early;

  /** The ending of a task that {@code stop} can stop. */
  public TaskEnding(StopSwitch stop, boolean ring) {
    this.stop = stop;
    this.ring = ring;
  }

  /** Ends training early; on a ring, with the next step, in which all ranks learn of it. */
  public void endEarly(SessionRunContext context) {
    decided = true;
    if (!ring) {
      hear(EARLY, context);
    }
  }

  /** What this rank says to the others with the next step. */
  public long word() {
    return stop.isRaised() ? STOP : decided ? EARLY : CONTINUE;
  }

  /** Follows what a rank has said with the step that was made. */
  public void hear(long word, SessionRunContext context) {
    if (word == STOP) {
      stop.raise();
      context.requestStop();
    } else if (word == EARLY) {
      early = true;
      context.requestStop();
    }
  }

  /** Whether training has ended early. */
  public boolean isEarly() {
    return early;
  }
}
