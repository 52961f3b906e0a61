package dev.millrace.ops.queue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.resource.Resources;
import dev.millrace.graph.resource.StateJournal;
import dev.millrace.ops.waiting.Waiter;
import dev.millrace.ops.waiting.WaitingRoom;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * A bounded queue of elements, each a tuple of tensors. Whoever finds it full or empty waits in
 * line until its turn comes, the queue is closed, or its step is cancelled.
 *
 * <p>Enqueuing and dequeuing have a line each. The head of a line takes what it can get, so a
 * dequeue of many may take more than the queue ever holds at once; those behind it wait. Closing
 * lets the dequeuers have what is left.
 *
 * <p>Threading: any thread.
 */
public final class Queue implements Resources.Resource {
  private final QueueSpec spec;
  private final QueueOrder elements;
  private final WaitingRoom.Line enqueuing = new WaitingRoom.Line("Enqueue");
  private final WaitingRoom.Line dequeuing = new WaitingRoom.Line("Dequeue");
  private final WaitingRoom room = new WaitingRoom(this, enqueuing, dequeuing);
  private long bytes;
  private boolean closed;

  /** Told of every change under the lock; null where state is kept in memory only. */
  private StateJournal journal;

  Queue(QueueSpec spec, QueueOrder order) {
    this.spec = spec;
    this.elements = order;
  }

  @Override
  public String kind() {
    return spec.kind();
  }

  @Override
  public synchronized void reportTo(StateJournal to) {
    journal = to;
  }

  /** Under the lock. */
  private void changedBy(KernelContext c) {
    if (journal != null) {
      journal.changed(c.stepId());
    }
  }

  QueueSpec spec() {
    return spec;
  }

  /** How many elements it holds. */
  public synchronized int size() {
    return elements.size();
  }

  /** Whether nobody can enqueue any more. */
  public synchronized boolean isClosed() {
    return closed;
  }

  /** Adds elements in order; takes over a counted reference to each of their tensors. */
  void enqueue(KernelContext c, List<Tensor[]> list, Runnable done) {
    if (list.isEmpty()) {
      done.run();
      return;
    }
    room.enter(enqueuing, new Enqueue(c, list, done));
  }

  /** Gives the outputs of {@code c} the components of one element. */
  void dequeue(KernelContext c, Runnable done) {
    room.enter(dequeuing, new Dequeue(c, 1, false, false, done));
  }

  /**
   * Hands one element to {@code taker}, who then owns its tensors. Where there is none to come
   * {@code c} fails. Either way {@code done} follows.
   */
  public void take(KernelContext c, Consumer<Tensor[]> taker, Runnable done) {
    room.enter(
        dequeuing,
        new Dequeue(c, 1, false, false, done) {
          @Override
          protected void deliver() {
            taker.accept(taken.getFirst());
          }
        });
  }

  /**
   * Gives the outputs of {@code c} the components of {@code n} elements, stacked; with {@code
   * orFewer} those that are left if the queue is closed before there are that many.
   */
  void dequeueMany(KernelContext c, int n, boolean orFewer, Runnable done) {
    if (n == 0) {
      stack(c, List.of());
      done.run();
      return;
    }
    room.enter(dequeuing, new Dequeue(c, n, true, orFewer, done));
  }

  /**
   * Lets nobody enqueue any more. With {@code cancelPending} those who wait to enqueue fail now;
   * else the queue closes when they are through.
   */
  void close(KernelContext c, boolean cancelPending, Runnable done) {
    if (!cancelPending) {
      room.enter(enqueuing, new Close(c, done));
      return;
    }
    synchronized (this) {
      closed = true;
      changedBy(c);
    }
    room.cancelAll(enqueuing);
    done.run();
  }

  /** Ends the queue: waiters fail and what it holds is given up. */
  @Override
  public void close() {
    synchronized (this) {
      closed = true;
    }
    MillraceException gone =
        new MillraceException(
            Code.CANCELLED, "%s '%s' was removed.".formatted(spec.kind(), spec.name()));
    room.failAll(dequeuing, gone);
    room.failAll(enqueuing, gone);
    synchronized (this) {
      while (elements.size() > 0) {
        release(elements.take());
      }
      bytes = 0;
    }
  }

  private void stack(KernelContext c, List<Tensor[]> taken) {
    for (int i = 0; i < spec.types().size(); i++) {
      c.output(i, Batch.stack(spec, i, taken));
    }
  }

  private static void release(Tensor[] element) {
    for (Tensor t : element) {
      Refs.release(t);
    }
  }

  private static long bytes(Tensor[] element) {
    long n = 0;
    for (Tensor t : element) {
      n += t.byteSize();
    }
    return n;
  }

  private final class Enqueue extends Waiter {
    private final List<Tensor[]> list;
    private int next;

    Enqueue(KernelContext c, List<Tensor[]> list, Runnable done) {
      super(c, done);
      this.list = list;
    }

    @Override
    protected Progress advance() {
      if (closed) {
        failWith(
            new MillraceException(
                Code.CANCELLED, "%s '%s' is closed.".formatted(spec.kind(), spec.name())));
        return Progress.DONE;
      }
      int before = next;
      while (next < list.size() && fits(list.get(next))) {
        bytes += bytes(list.get(next));
        elements.add(list.get(next++));
      }
      if (next > before) {
        changedBy(context());
      }
      return next == list.size() ? Progress.DONE : next > before ? Progress.SOME : Progress.NONE;
    }

    private boolean fits(Tensor[] element) {
      return elements.size() < spec.capacity() && bytes + bytes(element) <= spec.capacityBytes();
    }

    /** What has entered the queue stays there, as in TensorFlow. */
    @Override
    protected void undo() {
      while (next < list.size()) {
        release(list.get(next++));
      }
    }
  }

  private class Dequeue extends Waiter {
    private final boolean stacked;
    private final boolean orFewer;
    private final int wanted;
    final List<Tensor[]> taken = new ArrayList<>();

    Dequeue(KernelContext c, int wanted, boolean stacked, boolean orFewer, Runnable done) {
      super(c, done);
      this.wanted = wanted;
      this.stacked = stacked;
      this.orFewer = orFewer;
    }

    @Override
    protected Progress advance() {
      int before = taken.size();
      int limit = Math.min(wanted, before + elements.available(missing(), closed));
      while (taken.size() < limit) {
        Tensor[] element = elements.take();
        bytes -= bytes(element);
        taken.add(element);
      }
      if (taken.size() > before) {
        changedBy(context());
      }
      if (taken.size() == wanted || (closed && orFewer && !taken.isEmpty())) {
        return Progress.DONE;
      }
      if (closed) {
        undo();
        failWith(
            new MillraceException(
                Code.OUT_OF_RANGE,
                "%s '%s' is closed and has insufficient elements (requested %d, current size %d)"
                    .formatted(spec.kind(), spec.name(), wanted, elements.size())));
        return Progress.DONE;
      }
      return taken.size() > before ? Progress.SOME : Progress.NONE;
    }

    /** How many elements to wait for: never more than the queue's capacity. */
    private int missing() {
      return Math.min(wanted - taken.size(), spec.capacity());
    }

    @Override
    protected void undo() {
      if (taken.isEmpty()) {
        return;
      }
      taken.forEach(e -> bytes += bytes(e));
      elements.putBack(taken);
      taken.clear();
      changedBy(context());
    }

    @Override
    protected void deliver() {
      if (stacked) {
        try {
          stack(context(), taken);
        } finally {
          taken.forEach(Queue::release);
        }
      } else {
        Tensor[] element = taken.getFirst();
        for (int i = 0; i < element.length; i++) {
          context().output(i, element[i]);
        }
      }
    }
  }

  private final class Close extends Waiter {
    Close(KernelContext c, Runnable done) {
      super(c, done);
    }

    @Override
    protected Progress advance() {
      if (closed) {
        failWith(
            new MillraceException(
                Code.CANCELLED, "Queue '%s' is already closed.".formatted(spec.name())));
      }
      closed = true;
      changedBy(context());
      return Progress.DONE;
    }
  }
}
