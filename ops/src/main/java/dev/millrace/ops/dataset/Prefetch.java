package dev.millrace.ops.dataset;

import dev.millrace.base.Cancellation;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.context.Context;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.tensor.Tensor;
import java.util.ArrayDeque;

/** A dataset whose elements are made ahead of time, by a thread of their own. */
final class Prefetch extends DatasetValue {
  /** How many elements are kept where TensorFlow would try and see. */
  private static final int BY_CHOICE = 4;

  static final Op OP =
      giving(
          define("PrefetchDataset")
              .attr("slack_period: int = 0")
              .attr("legacy_autotune: bool = true")
              .attr("buffer_size_min: int = 0")
              .input("input_dataset: variant")
              .input("buffer_size: int64"),
          Prefetch::new);

  private final DatasetValue input;
  private final int capacity;

  private Prefetch(KernelContext c) {
    super(typesOf(c.node()), shapesOf(c.node()));
    long size = number(c, 1);
    if (size < -1) {
      throw MillraceException.invalid(
          "buffer_size must be >= 0 or set buffer_size to be -1 for auto-tuning");
    }
    capacity = size == -1 ? BY_CHOICE : (int) Math.min(size, Integer.MAX_VALUE);
    input = holdInput(c, 0);
  }

  @Override
  long cardinality() {
    return input.cardinality();
  }

  @Override
  DatasetElements elements(Iteration iteration) {
    DatasetElements all = input.elements(iteration);
    return capacity == 0 ? all : new Ahead(all, capacity);
  }

  /**
   * Elements that a thread makes ahead. It begins with the first that is asked for, and ends with
   * the last, or when this is closed.
   *
   * <p>Threading: as all {@link DatasetElements}; the buffer is guarded by this.
   */
  private static final class Ahead extends DatasetElements {
    private final DatasetElements input;
    private final int capacity;

    /** Elements, and failures in their places. */
    private final ArrayDeque<Object> buffer = new ArrayDeque<>();

    private final Cancellation closing = new Cancellation();
    private Thread thread;
    private boolean over;

    Ahead(DatasetElements input, int capacity) {
      this.input = input;
      this.capacity = capacity;
    }

    @Override
    synchronized boolean isReady() {
      return !buffer.isEmpty() || (over && thread != null);
    }

    @Override
    Tensor[] next(Cancellation c) {
      try (Cancellation.Registration _ = c.onCancel(this::wake)) {
        return take(c);
      }
    }

    private synchronized void wake() {
      notifyAll();
    }

    private synchronized Tensor[] take(Cancellation c) {
      if (thread == null) {
        thread = Context.current().platform().newThread("millrace-prefetch", this::fill);
        thread.start();
      }
      while (buffer.isEmpty() && !over) {
        c.check();
        try {
          wait();
        } catch (InterruptedException e) {
          Thread.currentThread().interrupt();
          throw new MillraceException(Code.CANCELLED, "The wait for an element was interrupted.");
        }
      }
      Object first = buffer.poll();
      notifyAll();
      if (first instanceof MillraceException e) {
        throw e;
      }
      return (Tensor[]) first;
    }

    /** What the thread does. */
    private void fill() {
      while (awaitRoom()) {
        Object made;
        try {
          made = input.next(closing);
        } catch (Throwable t) {
          made = MillraceException.of(t);
        }
        if (!put(made)) {
          return;
        }
      }
    }

    private synchronized boolean awaitRoom() {
      while (buffer.size() >= capacity && !closing.isCancelled()) {
        try {
          wait();
        } catch (InterruptedException e) {
          over = true;
          notifyAll();
          return false;
        }
      }
      return !closing.isCancelled();
    }

    /** Takes an element, a failure or, null, the end; says whether to go on. */
    private synchronized boolean put(Object made) {
      over = made == null;
      if (made != null) {
        buffer.add(made);
      }
      notifyAll();
      return !over;
    }

    @Override
    public void close() {
      closing.cancel(new MillraceException(Code.CANCELLED, "The iterator has been closed."));
      wake();
      Thread t;
      synchronized (this) {
        t = thread;
      }
      if (t != null) {
        joinUninterruptibly(t);
      }
      synchronized (this) {
        over = true;
        for (Object o : buffer) {
          if (o instanceof Tensor[] element) {
            release(element);
          }
        }
        buffer.clear();
      }
      input.close();
    }

    private static void joinUninterruptibly(Thread t) {
      boolean interrupted = false;
      while (t.isAlive()) {
        try {
          t.join();
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
