package dev.millrace.ops.dataset;

import dev.millrace.base.Cancellation;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.resource.Resources;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * The resource that steps take elements of a dataset from, one after the other in the order in
 * which they ask. It can be set to another dataset, or to the beginning of the same one, at any
 * time; whoever has asked before gets an element of the old one.
 *
 * <p>Threading: any thread. Those who ask stand in line at a {@link Walk}; a thread of {@link
 * DataThreads} serves them while there are any.
 */
final class DatasetIterator implements Resources.Resource {
  private final List<DType> types;
  private final List<Shape> shapes;
  private final Object making = new Object();

  /** Guarded by this. */
  private Walk walk;

  private boolean closed;

  DatasetIterator(List<DType> types, List<Shape> shapes) {
    this.types = types;
    this.shapes = shapes;
  }

  @Override
  public String kind() {
    return "Iterator";
  }

  /** Fails unless elements of these types and shapes can be taken for those it gives. */
  void check(List<DType> wantedTypes, List<Shape> wantedShapes) {
    check(wantedTypes, wantedShapes, types, shapes);
  }

  private static void check(
      List<DType> wanted, List<Shape> wantedShapes, List<DType> given, List<Shape> givenShapes) {
    if (wanted.size() != given.size()) {
      throw MillraceException.invalid(
          "Number of components does not match: expected %d types but got %d.",
          wanted.size(), given.size());
    }
    for (int i = 0; i < wanted.size(); i++) {
      if (wanted.get(i) != given.get(i)) {
        throw MillraceException.invalid(
            "Data type mismatch at component %d: expected %s but got %s.",
            i, wanted.get(i), given.get(i));
      }
    }
    for (int i = 0; i < Math.min(wantedShapes.size(), givenShapes.size()); i++) {
      if (!wantedShapes.get(i).isCompatibleWith(givenShapes.get(i))) {
        throw MillraceException.invalid(
            "Incompatible shapes at component %d: expected %s but got %s.",
            i, wantedShapes.get(i), givenShapes.get(i));
      }
    }
  }

  /** Goes to the first element of the dataset in {@code t}, which is borrowed. */
  void set(Tensor t) {
    DatasetValue dataset = DatasetValue.of(t);
    check(types, shapes, dataset.types(), dataset.shapes());
    Walk next = new Walk(t, dataset.elements(new Iteration()));
    Walk before;
    synchronized (this) {
      before = closed ? next : walk;
      walk = closed ? null : next;
    }
    if (before != null) {
      before.leave();
    }
  }

  synchronized boolean isSet() {
    return walk != null;
  }

  /** Goes to the first element of a dataset, made now, unless it has been set before. */
  void setOnce(Supplier<Tensor> maker) {
    synchronized (making) {
      if (!isSet()) {
        Tensor t = maker.get();
        try {
          set(t);
        } finally {
          Refs.release(t);
        }
      }
    }
  }

  /** Hands the next element to {@code taker}, null at the end; then {@code done} is run. */
  void next(KernelContext c, Runnable done, Consumer<Tensor[]> taker) {
    Request r = new Request(c, done, taker);
    while (true) {
      Walk w;
      synchronized (this) {
        w = walk;
        if (closed) {
          throw closed();
        }
      }
      if (w == null) {
        throw MillraceException.failedPrecondition(
            "GetNext() failed because the iterator has not been initialized. Ensure that you have"
                + " run the initializer operation for this iterator before getting the next"
                + " element.");
      }
      if (w.ask(r)) {
        return;
      }
    }
  }

  private static MillraceException closed() {
    return new MillraceException(Code.CANCELLED, "The iterator has been closed.");
  }

  @Override
  public void close() {
    Walk w;
    synchronized (this) {
      closed = true;
      w = walk;
      walk = null;
    }
    if (w != null) {
      w.leave();
      w.cancelAll();
    }
  }

  /** One who asks, and who may be told that it is over before its time. */
  private static final class Request {
    private final KernelContext c;
    private final Runnable done;
    private final Consumer<Tensor[]> taker;
    private final Cancellation cancellation;
    private Cancellation.Registration registration;

    Request(KernelContext c, Runnable done, Consumer<Tensor[]> taker) {
      this.c = c;
      this.done = done;
      this.taker = taker;
      cancellation = c.cancellation().withSameLease();
    }

    void serve(DatasetElements elements) {
      try {
        cancellation.check();
        taker.accept(elements.next(cancellation));
      } catch (Throwable t) {
        c.fail(MillraceException.of(t));
      }
      end();
    }

    void end() {
      registration.close();
      done.run();
    }
  }

  /** A walk through a dataset, and the line of those who want an element of it. */
  private static final class Walk {
    private final Tensor dataset;
    private final DatasetElements elements;

    // Guarded by this.
    private final ArrayDeque<Request> line = new ArrayDeque<>();

    /** Whose element is being made. */
    private Request served;

    /** Whether a thread serves the line, or closes the elements. */
    private boolean busy;

    /** Whether the elements are to be closed when the line is empty. */
    private boolean left;

    private boolean over;

    Walk(Tensor dataset, DatasetElements elements) {
      this.dataset = Refs.retain(dataset);
      this.elements = elements;
    }

    /** Lets {@code r} in at the end of the line; says no if this is over. */
    boolean ask(Request r) {
      boolean inline;
      boolean first;
      synchronized (this) {
        if (over) {
          return false;
        }
        r.registration = r.c.cancellation().onCancel(() -> cancel(r));
        first = !busy;
        busy = true;
        inline = first && elements.isReady();
        if (inline) {
          served = r;
        } else {
          line.add(r);
        }
      }
      if (inline) {
        r.serve(elements);
        goOn();
      } else if (first) {
        DataThreads.start(this::serveLine);
      }
      return true;
    }

    /** After one was served by its own thread. */
    private void goOn() {
      synchronized (this) {
        served = null;
        busy = left || !line.isEmpty();
        if (!busy) {
          return;
        }
      }
      DataThreads.start(this::serveLine);
    }

    private void serveLine() {
      while (true) {
        Request r;
        synchronized (this) {
          r = line.poll();
          served = r;
          if (r == null) {
            over = left;
            busy = over;
            if (!over) {
              return;
            }
            break;
          }
        }
        r.serve(elements);
      }
      try {
        elements.close();
      } finally {
        Refs.release(dataset);
      }
    }

    private void cancel(Request r) {
      boolean waits;
      synchronized (this) {
        waits = line.remove(r);
      }
      MillraceException cause = r.c.cancellation().cause();
      if (waits) {
        r.c.fail(cause);
        r.end();
      } else {
        r.cancellation.cancel(cause);
      }
    }

    /** The elements are closed once all who have asked are served. */
    void leave() {
      synchronized (this) {
        left = true;
        if (busy) {
          return;
        }
        busy = true;
      }
      DataThreads.start(this::serveLine);
    }

    /** Ends those who wait and the one that is being served. */
    void cancelAll() {
      List<Request> all;
      synchronized (this) {
        all = new ArrayList<>(line);
        if (served != null) {
          all.add(served);
        }
      }
      all.forEach(r -> r.cancellation.cancel(closed()));
    }
  }
}
