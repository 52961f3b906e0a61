package dev.millrace.cluster.link;

import dev.millrace.base.Platform;
import java.io.IOException;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;

/**
 * The frames that wait to go out over a link. Whoever has something urgent writes it out, along
 * with all that waits; what is not urgent is written by a thread of the pool. So the tensors a step
 * sends while it computes leave together.
 *
 * <p>Threading: any thread.
 */
final class SendQueue {
  /** What goes out: written once, unless the link is lost first; then released. */
  interface Frame {
    void write(LinkOutput out) throws IOException;

    default void release() {}
  }

  private final LinkOutput out;
  private final Platform platform;
  private final Consumer<Runnable> threads;
  private final Consumer<Exception> onFailure;
  private final Queue<Frame> queue = new ConcurrentLinkedQueue<>();
  private final ReentrantLock writing = new ReentrantLock();
  private final AtomicBoolean writerCalled = new AtomicBoolean();
  private volatile boolean closed;

  /**
   * An outbox that writes to {@code out}.
   *
   * @param threads has something run by another thread
   * @param onFailure told, on the writing thread, why writing has failed
   */
  SendQueue(
      LinkOutput out,
      Consumer<Runnable> threads,
      Consumer<Exception> onFailure,
      Platform platform) {
    this.platform = platform;
    this.out = out;
    this.threads = threads;
    this.onFailure = onFailure;
  }

  /** Sends a frame with all that waits, on this thread unless another is at it. */
  void sendNow(Frame f) {
    add(f);
    flush();
  }

  /** Sends without writing on this thread. */
  void sendLater(Frame f) {
    add(f);
    startWriter();
  }

  /** Starts a pool thread that writes the queued frames, if there are any. */
  void startWriter() {
    if (closed || queue.isEmpty() || !writerCalled.compareAndSet(false, true)) {
      return;
    }
    boolean called = false;
    try {
      threads.accept(
          () -> {
            writerCalled.set(false);
            flush();
          });
      called = true;
    } finally {
      if (!called) {
        // The pool had no thread; the next call may find one.
        writerCalled.set(false);
      }
    }
  }

  /**
   * Sends a frame from a virtual thread. Heartbeats must go out even when the pool is busy or has
   * no threads left.
   */
  void sendOnVirtualThread(Frame f) {
    add(f);
    flushOnVirtualThread();
  }

  /** Flushes queued frames from a virtual thread, independently of the pool. */
  void flushOnVirtualThread() {
    platform.newVirtualThread("millrace-link-flush", this::flush).start();
  }

  private void add(Frame f) {
    queue.add(f);
    if (closed) {
      drop();
    }
  }

  /**
   * Writes what waits. Whoever holds the lock looks at the queue again after giving it back, so a
   * frame added while it was held is not left behind.
   */
  void flush() {
    while (!queue.isEmpty() && writing.tryLock()) {
      // A channel closes itself when a thread that was interrupted uses it.
      boolean interrupted = Thread.interrupted();
      try {
        for (Frame f = queue.poll(); f != null; f = queue.poll()) {
          try {
            f.write(out);
          } finally {
            f.release();
          }
        }
        out.flush();
      } catch (IOException | RuntimeException e) {
        onFailure.accept(e);
      } finally {
        writing.unlock();
        if (interrupted) {
          Thread.currentThread().interrupt();
        }
      }
    }
  }

  /** Waits for whoever is writing, but not for long: a peer may have stopped reading. */
  void awaitWritten(long nanos) {
    try {
      if (platform.timers().tryLock(writing, nanos)) {
        writing.unlock();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Nothing goes out any more; what waits, and what is sent from now on, is released. */
  void close() {
    closed = true;
    drop();
  }

  private void drop() {
    for (Frame f = queue.poll(); f != null; f = queue.poll()) {
      f.release();
    }
  }
}
