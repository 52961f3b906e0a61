package dev.millrace.collective;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Tensor;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * One pass of a {@link ReductionSequence} on one rank: tensors come in on the caller's threads, in
 * any order, and are taken in the sequence's order by the ring's thread.
 *
 * <p>Threading: any thread.
 */
final class SequencePass {
  private static final long CHECK_NANOS = 50_000_000L;

  private final Timers timers;
  private final List<String> names;
  private final Tensor[] tensors;
  private final List<CompletableFuture<Tensor>> results = new ArrayList<>();
  private final boolean[] submitted;
  private final boolean[] overwritten;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition arrived = lock.newCondition();
  private int come;
  private int taken;
  private boolean over;

  /** A pass over the tensors of these names. */
  SequencePass(List<String> names, Timers timers) {
    this.timers = timers;
    this.names = names;
    this.tensors = new Tensor[names.size()];
    this.submitted = new boolean[names.size()];
    this.overwritten = new boolean[names.size()];
    for (int i = 0; i < tensors.length; i++) {
      results.add(new CompletableFuture<>());
    }
  }

  /** Takes tensor {@code i}, which its reduction may overwrite or not; the result comes later. */
  CompletableFuture<Tensor> put(int i, Tensor tensor, boolean overwrite) {
    lock.lock();
    try {
      return putLocked(i, tensor, overwrite);
    } finally {
      lock.unlock();
    }
  }

  private CompletableFuture<Tensor> putLocked(int i, Tensor tensor, boolean overwrite) {
    if (submitted[i]) {
      throw new MillraceException(
          Code.FAILED_PRECONDITION,
          "'"
              + names.get(i)
              + "' was submitted again before all of its sequence were. A step that fails half way"
              + " cannot be repeated: the other ranks have gone on.");
    }
    submitted[i] = true;
    overwritten[i] = overwrite;
    come++;
    if (!over) {
      tensors[i] = Refs.retain(tensor);
      arrived.signalAll();
    }
    return results.get(i);
  }

  boolean mayOverwrite(int i) {
    lock.lock();
    try {
      return overwritten[i];
    } finally {
      lock.unlock();
    }
  }

  boolean isComplete() {
    lock.lock();
    try {
      return come == tensors.length;
    } finally {
      lock.unlock();
    }
  }

  /** Waits until tensors {@code from} to {@code to} are there. {@code check} may throw. */
  List<Tensor> await(int from, int to, Duration patience, Runnable check) {
    lock.lock();
    try {
      return awaitLocked(from, to, patience, check);
    } finally {
      lock.unlock();
    }
  }

  private List<Tensor> awaitLocked(int from, int to, Duration patience, Runnable check) {
    long end = timers.now() + patience.toNanos();
    for (int i = from; i < to; i++) {
      while (tensors[i] == null) {
        check.run();
        if (timers.now() - end > 0) {
          throw new MillraceException(
              Code.DEADLINE_EXCEEDED,
              String.format(
                  "This rank has not submitted '%s' for %d s after the first of its sequence; %d of"
                      + " %d are there. The limit is the stall deadline.",
                  names.get(i), patience.toSeconds(), come, tensors.length));
        }
        try {
          timers.await(arrived, CHECK_NANOS);
        } catch (InterruptedException e) {
          Thread.currentThread().interrupt();
          throw new MillraceException(Code.CANCELLED, "Interrupted.", e);
        }
      }
    }
    return List.of(Arrays.copyOfRange(tensors, from, to));
  }

  /** Tensor {@code i} is reduced. The caller of {@link #put} owns the result. */
  void complete(int i, Tensor result) {
    lock.lock();
    try {
      Refs.release(tensors[i]);
      taken = i + 1;
    } finally {
      lock.unlock();
    }
    results.get(i).complete(result);
  }

  /** Ends all that is not complete. */
  void fail(Throwable cause) {
    lock.lock();
    try {
      over = true;
      for (int i = taken; i < tensors.length; i++) {
        if (tensors[i] != null) {
          Refs.release(tensors[i]);
        }
      }
      taken = tensors.length;
    } finally {
      lock.unlock();
    }
    results.forEach(r -> r.completeExceptionally(cause));
  }
}
