package dev.millrace.runtime.exec;

import dev.millrace.base.Cancellation;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.graph.Rendezvous;
import dev.millrace.graph.resource.VariableStore;
import dev.millrace.runtime.trace.StepTrace;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Tensor;
import java.time.Duration;
import java.util.function.IntFunction;

/**
 * What the parts of one step on one task have in common: its id, rendezvous, cancellation, fed and
 * fetched values, and the first failure.
 *
 * <p>Threading: any thread.
 */
public final class Step implements RunningSteps.Member {
  private final long id;
  private final Rendezvous rendezvous;
  private final Cancellation cancellation;
  private final Tensor[] arguments;
  private final Tensor[] results;
  private final StepTrace trace;
  private final Timers timers;
  private final Duration limit;
  private final long deadlineNanos;
  private volatile MillraceException failure;

  /** What it waited for when it failed; null before. */
  private AwaitedNodes awaited;

  /**
   * A step; {@code arguments} are counted and borrowed for its duration.
   *
   * @param limit how long it may take; null where somebody else ends it, or nobody
   */
  public Step(
      long id,
      Rendezvous rendezvous,
      Cancellation cancellation,
      Tensor[] arguments,
      int results,
      StepTrace trace,
      Duration limit,
      Timers timers) {
    this.id = id;
    this.rendezvous = rendezvous;
    this.cancellation = cancellation;
    this.arguments = arguments;
    this.results = new Tensor[results];
    this.trace = trace;
    this.timers = timers;
    this.limit = limit;
    this.deadlineNanos = limit == null ? 0 : RunningSteps.deadline(timers, limit.toNanos());
  }

  @Override
  public long deadlineNanos() {
    return deadlineNanos;
  }

  @Override
  public MillraceException overdue() {
    return StepFailures.deadlineExceeded(id, limit);
  }

  /** Notes what a part of the step waits for, once it has failed. */
  synchronized void addAwaited(Iterable<AsyncRun> waiting) {
    if (awaited == null) {
      awaited = new AwaitedNodes();
    }
    waiting.forEach(w -> awaited.add(w.node()));
  }

  /** What the step waited for when it failed; null if it did not wait. */
  public synchronized AwaitedNodes awaited() {
    return awaited;
  }

  public long id() {
    return id;
  }

  public Rendezvous rendezvous() {
    return rendezvous;
  }

  public Cancellation cancellation() {
    return cancellation;
  }

  /** Records what ran when, or null where nobody asked. */
  StepTrace trace() {
    return trace;
  }

  /** The clock by which it waits. */
  Timers timers() {
    return timers;
  }

  Tensor argument(int i) {
    return arguments[i];
  }

  /** Keeps a fetched value, taking over its reference. */
  void result(int i, Tensor value) {
    results[i] = value;
  }

  /** The fetched values, each with a reference of the caller's; null where a value was dead. */
  public Tensor[] results() {
    return results;
  }

  /**
   * The fetched values of a step that has ended. Throws its failure, or an error if a value is
   * missing, and releases the other values then.
   *
   * @param describe what to call a value in the error, by its index
   */
  public Tensor[] completeResults(IntFunction<String> describe) {
    if (failure != null) {
      releaseResults();
      throw failure.code() == Code.DEADLINE_EXCEEDED && awaited() != null
          ? StepFailures.waitingFor(failure, awaited().reasons())
          : failure;
    }
    for (int i = 0; i < results.length; i++) {
      if (results[i] == null) {
        releaseResults();
        throw StepFailures.noValue(describe.apply(i));
      }
    }
    return results;
  }

  /** Gives back fetched values that nobody will take. */
  public void releaseResults() {
    for (int i = 0; i < results.length; i++) {
      if (results[i] != null) {
        Refs.release(results[i]);
        results[i] = null;
      }
    }
  }

  /**
   * Commits what the step has changed, or fails the step if that cannot be done. Called once, when
   * all its parts on this task have ended and before it is acknowledged.
   */
  public void commit(VariableStore store) {
    if (failure != null) {
      store.failed(id);
      return;
    }
    try {
      store.commit(id);
    } catch (Throwable t) {
      MillraceException e = MillraceException.of(t);
      fail(
          e.withMessage(
              "Step "
                  + id
                  + " could not be committed to the "
                  + store
                  + " store: "
                  + e.getMessage()));
    }
  }

  /** The first failure that is a cause of its own, else the first echo, else null. */
  public MillraceException failure() {
    return failure;
  }

  boolean hasFailed() {
    return failure != null;
  }

  /** Ends the step: everything that waits in it fails with an echo of {@code cause}. */
  @Override
  public void fail(MillraceException cause) {
    synchronized (this) {
      if (failure == null || (failure.isDerived() && !cause.isDerived())) {
        failure = cause;
      }
    }
    cancellation.cancel(
        new MillraceException(
                Code.CANCELLED, "Step " + id + " was cancelled: " + cause.getMessage())
            .asDerived());
    rendezvous.abort(cause.asDerived());
  }
}
