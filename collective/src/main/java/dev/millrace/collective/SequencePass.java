package dev.millrace.collective;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.tensor.Tensor;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * One pass of a {@link ReductionSequence} on one rank: tensors come in on the caller's threads, in
 * any order, and are taken in the sequence's order by the ring's thread.
 *
 * <p>Threading: any thread.
 */
final class SequencePass {
  private static final long CHECK_MILLIS = 50;

  private final List<String> names;
  private final Tensor[] tensors;
  private final List<CompletableFuture<Tensor>> results = new ArrayList<>();
  private final boolean[] submitted;
  private final boolean[] overwritten;
  private int come;
  private int taken;
  private boolean over;

  SequencePass(List<String> names) {
    this.names = names;
    this.tensors = new Tensor[names.size()];
    this.submitted = new boolean[names.size()];
    this.overwritten = new boolean[names.size()];
    for (int i = 0; i < tensors.length; i++) {
      results.add(new CompletableFuture<>());
    }
  }

  /** Takes tensor {@code i}, which its reduction may overwrite or not; the result comes later. */
  synchronized CompletableFuture<Tensor> put(int i, Tensor tensor, boolean overwrite) {
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
      tensors[i] = tensor.retain();
      notifyAll();
    }
    return results.get(i);
  }

  synchronized boolean mayOverwrite(int i) {
    return overwritten[i];
  }

  synchronized boolean isComplete() {
    return come == tensors.length;
  }

  /** Waits until tensors {@code from} to {@code to} are there. {@code check} may throw. */
  synchronized List<Tensor> await(int from, int to, Duration patience, Runnable check) {
    long end = System.nanoTime() + patience.toNanos();
    for (int i = from; i < to; i++) {
      while (tensors[i] == null) {
        check.run();
        if (System.nanoTime() > end) {
          throw new MillraceException(
              Code.DEADLINE_EXCEEDED,
              String.format(
                  "This rank has not submitted '%s' for %d s after the first of its sequence; %d of"
                      + " %d are there. The limit is the stall deadline.",
                  names.get(i), patience.toSeconds(), come, tensors.length));
        }
        try {
          wait(CHECK_MILLIS);
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
    synchronized (this) {
      tensors[i].release();
      taken = i + 1;
    }
    results.get(i).complete(result);
  }

  /** Ends all that is not complete. */
  void fail(Throwable cause) {
    synchronized (this) {
      over = true;
      for (int i = taken; i < tensors.length; i++) {
        if (tensors[i] != null) {
          tensors[i].release();
        }
      }
      taken = tensors.length;
    }
    results.forEach(r -> r.completeExceptionally(cause));
  }
}
