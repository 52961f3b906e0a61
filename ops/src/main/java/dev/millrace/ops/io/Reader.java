package dev.millrace.ops.io;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.context.Context;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.resource.Resources;
import dev.millrace.ops.queue.Queue;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;

/**
 * Takes names of files from a queue, one when it is through with the one before, and reads records
 * from them.
 *
 * <p>Threading: any thread that may wait. One reads at a time.
 */
final class Reader implements Resources.Resource {
  /** A record and what tells it from others. */
  record Entry(String key, byte[] value) {}

  /** The records of one file. */
  interface Source extends AutoCloseable {
    /** The next record, or null at the end. */
    Entry next();

    /** Whether it is known already that there is no other. */
    default boolean isAtEnd() {
      return false;
    }

    @Override
    default void close() {}
  }

  /** How often one that waits for its turn looks whether its step still wants it. */
  private static final long LOOK_NANOS = 50_000_000L;

  private final String kind;
  private final Function<String, Source> opener;
  private final ReentrantLock turn = new ReentrantLock(true);

  // Guarded by the turn.
  private Source current;
  private long produced;
  private long completed;

  /** A reader of what {@code opener} finds under a name. */
  Reader(String kind, Function<String, Source> opener) {
    this.kind = kind;
    this.opener = opener;
  }

  @Override
  public String kind() {
    return kind;
  }

  /**
   * Up to {@code n} records, one at least, and all of one file. Empty if {@code c} has failed for
   * want of a file.
   */
  List<Entry> read(KernelContext c, Queue queue, long n) {
    awaitTurn(c);
    try {
      List<Entry> records = new ArrayList<>();
      while (records.size() < n) {
        c.cancellation().check();
        if (current == null) {
          String work = nextWork(c, queue);
          if (work == null) {
            return List.of();
          }
          current = opener.apply(work);
        }
        Entry next = current.next();
        if (next != null) {
          records.add(next);
          produced++;
        }
        if (next == null || current.isAtEnd()) {
          closeCurrent();
          completed++;
          if (!records.isEmpty()) {
            break;
          }
        }
      }
      return records;
    } finally {
      turn.unlock();
    }
  }

  private void awaitTurn(KernelContext c) {
    try {
      while (!Context.current().timers().tryLock(turn, LOOK_NANOS)) {
        c.cancellation().check();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new MillraceException(Code.CANCELLED, kind + " was interrupted.");
    }
  }

  /** Waits for a name; null if the step was cancelled or the queue is at its end. */
  private String nextWork(KernelContext c, Queue queue) {
    CompletableFuture<Tensor[]> element = new CompletableFuture<>();
    queue.take(c, element::complete, () -> element.complete(null));
    Tensor[] taken = element.join();
    if (taken == null) {
      return null;
    }
    try {
      boolean isName =
          taken.length == 1 && taken[0].dtype() == DType.STRING && taken[0].elements() == 1;
      if (!isName) {
        throw MillraceException.invalid(
            "%s '%s': the queue must hold names of files, one string at a time.",
            c.node().op().name(), c.node().name());
      }
      return taken[0].stringAt(0);
    } finally {
      for (Tensor t : taken) {
        Refs.release(t);
      }
    }
  }

  long produced(KernelContext c) {
    awaitTurn(c);
    try {
      return produced;
    } finally {
      turn.unlock();
    }
  }

  long completed(KernelContext c) {
    awaitTurn(c);
    try {
      return completed;
    } finally {
      turn.unlock();
    }
  }

  /** Forgets the file it is at and all it has counted. */
  void reset(KernelContext c) {
    awaitTurn(c);
    try {
      closeCurrent();
      produced = 0;
      completed = 0;
    } finally {
      turn.unlock();
    }
  }

  private void closeCurrent() {
    if (current != null) {
      current.close();
      current = null;
    }
  }

  /** Whoever still reads closes nothing: its step is over when its resources are removed. */
  @Override
  public void close() {
    if (turn.tryLock()) {
      try {
        closeCurrent();
      } finally {
        turn.unlock();
      }
    }
  }
}
