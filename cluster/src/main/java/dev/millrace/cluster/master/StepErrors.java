package dev.millrace.cluster.master;

import dev.millrace.base.Cancellation;
import dev.millrace.base.MillraceException;

/**
 * The errors of one step's workers. The first that is a cause of its own ends the step everywhere
 * and is the one reported; echoes count only where there is nothing else.
 */
final class StepErrors {
  private MillraceException cause;
  private MillraceException echo;

  void add(String worker, MillraceException e, Cancellation cancellation) {
    if (isOwn(e, cancellation.cause())) {
      // The worker repeats what the master ended the step for.
      return;
    }
    MillraceException placed =
        e.getMessage().startsWith("From /job:")
            ? e
            : e.withMessage("From " + worker + ":\n" + e.getMessage());
    synchronized (this) {
      if (e.isDerived()) {
        echo = echo == null ? placed : echo;
      } else {
        cause = cause == null ? placed : cause;
      }
    }
    // An echo says that another worker is about to report its cause: let it.
    if (!e.isDerived()) {
      cancellation.cancel(placed.asDerived());
    }
  }

  private static boolean isOwn(MillraceException e, MillraceException ended) {
    return ended != null
        && !ended.isDerived()
        && e.code() == ended.code()
        && e.getMessage().equals(ended.getMessage());
  }

  /** What ended the step: a worker's failure, else what it was cancelled for, else null. */
  synchronized MillraceException rootCause(Cancellation cancellation) {
    if (cause != null) {
      return cause;
    }
    MillraceException cancelled = cancellation.cause();
    return cancelled != null && !cancelled.isDerived() ? cancelled : echo;
  }
}
