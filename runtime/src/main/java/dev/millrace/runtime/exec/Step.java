package dev.millrace.runtime.exec;

import dev.millrace.base.Cancellation;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.op.Rendezvous;
import dev.millrace.tensor.Tensor;
import java.util.function.IntFunction;

/**
 * What the parts of one step on one task have in common: its id, rendezvous, cancellation, fed and
 * fetched values, and the first failure.
 *
 * <p>Threading: any thread.
 */
public final class Step {
  private final long id;
  private final Rendezvous rendezvous;
  private final Cancellation cancellation;
  private final Tensor[] arguments;
  private final Tensor[] results;
  private final StepTrace trace;
  private volatile MillraceException failure;

  /** A step of an in-process session; {@code arguments} are borrowed for its duration. */
  public Step(
      long id,
      Rendezvous rendezvous,
      Cancellation cancellation,
      Tensor[] arguments,
      int results,
      StepTrace trace) {
    this.id = id;
    this.rendezvous = rendezvous;
    this.cancellation = cancellation;
    this.arguments = arguments;
    this.results = new Tensor[results];
    this.trace = trace;
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
      throw failure;
    }
    for (int i = 0; i < results.length; i++) {
      if (results[i] == null) {
        releaseResults();
        throw MillraceException.invalid(
            "%s has no value: it lies on a branch that was not taken.", describe.apply(i));
      }
    }
    return results;
  }

  /** Gives back fetched values that nobody will take. */
  public void releaseResults() {
    for (int i = 0; i < results.length; i++) {
      if (results[i] != null) {
        results[i].release();
        results[i] = null;
      }
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
