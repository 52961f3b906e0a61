package dev.millrace.ops.queue;

import dev.millrace.base.Cancellation;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.op.KernelContext;
import dev.millrace.graph.op.Resources;
import dev.millrace.tensor.Tensor;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/**
 * A bounded queue of elements, each a tuple of tensors. Whoever finds it full or empty waits in
 * line, without a thread, until its turn comes, the queue is closed, or its step is cancelled.
 *
 * <p>Enqueuing and dequeuing have a line each. The head of a line takes what it can get, so a
 * dequeue of many may take more than the queue ever holds at once; those behind it wait. Closing
 * lets the dequeuers have what is left.
 *
 * <p>Threading: any thread; what an attempt leads to is told outside the lock.
 */
public final class Queue implements Resources.Resource {
  private enum Progress {
    NONE,
    SOME,
    DONE
  }

  private final QueueSpec spec;
  private final QueueOrder elements;
  private final ArrayDeque<Attempt> enqueuing = new ArrayDeque<>();
  private final ArrayDeque<Attempt> dequeuing = new ArrayDeque<>();
  private long bytes;
  private boolean closed;

  Queue(QueueSpec spec, QueueOrder order) {
    this.spec = spec;
    this.elements = order;
  }

  @Override
  public String kind() {
    return spec.kind();
  }

  QueueSpec spec() {
    return spec;
  }

  /** How many elements it holds. */
  public synchronized int size() {
    return elements.size();
  }

  public synchronized boolean isClosed() {
    return closed;
  }

  /** Adds elements in order; takes over a counted reference to each of their tensors. */
  void enqueue(KernelContext c, List<Tensor[]> list, Runnable done) {
    if (list.isEmpty()) {
      done.run();
      return;
    }
    submit(new Enqueue(c, list, done), enqueuing);
  }

  /** Gives the outputs of {@code c} the components of one element. */
  void dequeue(KernelContext c, Runnable done) {
    submit(new Dequeue(c, 1, false, false, done), dequeuing);
  }

  /**
   * Gives the outputs of {@code c} the components of {@code n} elements, stacked; with {@code
   * orFewer} those that are left if the queue is closed before there are that many.
   */
  void dequeueMany(KernelContext c, int n, boolean orFewer, Runnable done) {
    Dequeue a = new Dequeue(c, n, true, orFewer, done);
    if (n == 0) {
      a.end();
      return;
    }
    submit(a, dequeuing);
  }

  /**
   * Lets nobody enqueue any more. With {@code cancelPending} those who wait to enqueue fail now;
   * else the queue closes when they are through.
   */
  void close(KernelContext c, boolean cancelPending, Runnable done) {
    if (!cancelPending) {
      submit(new Close(c, done), enqueuing);
      return;
    }
    List<Attempt> cancelled;
    synchronized (this) {
      closed = true;
      cancelled = drain(enqueuing, cancelled("Enqueue"));
    }
    cancelled.forEach(Attempt::end);
    serve();
    done.run();
  }

  /** Ends the queue: waiters fail and what it holds is given up. */
  @Override
  public void close() {
    List<Attempt> failed;
    synchronized (this) {
      closed = true;
      MillraceException gone =
          new MillraceException(
              Code.CANCELLED, "%s '%s' was removed.".formatted(spec.kind(), spec.name()));
      failed = drain(enqueuing, gone);
      failed.addAll(drain(dequeuing, gone));
      while (elements.size() > 0) {
        release(elements.take());
      }
    }
    failed.forEach(Attempt::end);
  }

  private static List<Attempt> drain(ArrayDeque<Attempt> line, MillraceException why) {
    List<Attempt> all = new ArrayList<>(line);
    line.clear();
    for (Attempt a : all) {
      a.over = true;
      a.undo();
      a.failure = why;
    }
    return all;
  }

  private void submit(Attempt a, ArrayDeque<Attempt> line) {
    // Registered first: a step that is already over must not be found in line.
    a.registration = a.c.cancellation().onCancel(() -> cancel(a, line));
    synchronized (this) {
      if (!a.over) {
        line.addLast(a);
      }
    }
    serve();
  }

  private void cancel(Attempt a, ArrayDeque<Attempt> line) {
    synchronized (this) {
      if (a.over) {
        return;
      }
      a.over = true;
      line.remove(a);
      a.undo();
      a.failure = cancelled(line == enqueuing ? "Enqueue" : "Dequeue").asDerived();
    }
    a.end();
    // What it gave back, or its place at the head of the line, may serve another.
    serve();
  }

  private static MillraceException cancelled(String what) {
    return new MillraceException(Code.CANCELLED, what + " operation was cancelled");
  }

  /** Lets both lines go on as far as they can. */
  private void serve() {
    List<Attempt> over = new ArrayList<>();
    synchronized (this) {
      boolean changed;
      do {
        changed = serve(enqueuing, over) | serve(dequeuing, over);
      } while (changed);
    }
    over.forEach(Attempt::end);
  }

  private static boolean serve(ArrayDeque<Attempt> line, List<Attempt> over) {
    boolean changed = false;
    while (!line.isEmpty()) {
      Attempt head = line.getFirst();
      Progress p = head.advance();
      changed |= p != Progress.NONE;
      if (p != Progress.DONE) {
        return changed;
      }
      line.removeFirst();
      head.over = true;
      over.add(head);
    }
    return changed;
  }

  private static void release(Tensor[] element) {
    for (Tensor t : element) {
      t.release();
    }
  }

  private static long bytes(Tensor[] element) {
    long n = 0;
    for (Tensor t : element) {
      n += t.byteSize();
    }
    return n;
  }

  /** Somebody in line. */
  private abstract static class Attempt {
    final KernelContext c;
    private final Runnable done;
    Cancellation.Registration registration;

    /** Set under the lock by whoever ends the attempt, and only once. */
    boolean over;

    MillraceException failure;

    Attempt(KernelContext c, Runnable done) {
      this.c = c;
      this.done = done;
    }

    /** Does what can be done now, under the lock. */
    abstract Progress advance();

    /** Gives back what it took, under the lock. */
    void undo() {}

    /** Sets the outputs, outside the lock. */
    void deliver() {}

    final void end() {
      if (registration != null) {
        registration.close();
      }
      if (failure == null) {
        try {
          deliver();
        } catch (Throwable t) {
          failure = MillraceException.of(t);
        }
      }
      if (failure != null) {
        c.fail(failure);
      }
      done.run();
    }
  }

  private final class Enqueue extends Attempt {
    private final List<Tensor[]> list;
    private int next;

    Enqueue(KernelContext c, List<Tensor[]> list, Runnable done) {
      super(c, done);
      this.list = list;
    }

    @Override
    Progress advance() {
      if (closed) {
        undo();
        failure =
            new MillraceException(
                Code.CANCELLED, "%s '%s' is closed.".formatted(spec.kind(), spec.name()));
        return Progress.DONE;
      }
      int before = next;
      while (next < list.size() && fits(list.get(next))) {
        bytes += bytes(list.get(next));
        elements.add(list.get(next++));
      }
      return next == list.size() ? Progress.DONE : next > before ? Progress.SOME : Progress.NONE;
    }

    private boolean fits(Tensor[] element) {
      return elements.size() < spec.capacity() && bytes + bytes(element) <= spec.capacityBytes();
    }

    /** What has entered the queue stays there, as in TensorFlow. */
    @Override
    void undo() {
      while (next < list.size()) {
        release(list.get(next++));
      }
    }
  }

  private final class Dequeue extends Attempt {
    private final boolean stacked;
    private final boolean orFewer;
    private final int wanted;
    private final List<Tensor[]> taken = new ArrayList<>();

    Dequeue(KernelContext c, int wanted, boolean stacked, boolean orFewer, Runnable done) {
      super(c, done);
      this.wanted = wanted;
      this.stacked = stacked;
      this.orFewer = orFewer;
    }

    @Override
    Progress advance() {
      int before = taken.size();
      while (taken.size() < wanted && elements.available(closed) > 0) {
        Tensor[] element = elements.take();
        bytes -= bytes(element);
        taken.add(element);
      }
      if (taken.size() == wanted) {
        return Progress.DONE;
      }
      if (closed) {
        if (orFewer && !taken.isEmpty()) {
          return Progress.DONE;
        }
        undo();
        failure =
            new MillraceException(
                Code.OUT_OF_RANGE,
                "%s '%s' is closed and has insufficient elements (requested %d, current size %d)"
                    .formatted(spec.kind(), spec.name(), wanted, elements.size()));
        return Progress.DONE;
      }
      return taken.size() > before ? Progress.SOME : Progress.NONE;
    }

    @Override
    void undo() {
      taken.forEach(e -> bytes += bytes(e));
      elements.putBack(taken);
      taken.clear();
    }

    @Override
    void deliver() {
      if (!stacked) {
        Tensor[] element = taken.getFirst();
        for (int i = 0; i < element.length; i++) {
          c.output(i, element[i]);
        }
        return;
      }
      try {
        for (int i = 0; i < spec.types().size(); i++) {
          c.output(i, Batch.stack(spec, i, taken));
        }
      } finally {
        taken.forEach(Queue::release);
      }
    }
  }

  private final class Close extends Attempt {
    Close(KernelContext c, Runnable done) {
      super(c, done);
    }

    @Override
    Progress advance() {
      if (closed) {
        failure =
            new MillraceException(
                Code.CANCELLED, "Queue '%s' is already closed.".formatted(spec.name()));
      }
      closed = true;
      return Progress.DONE;
    }
  }
}
