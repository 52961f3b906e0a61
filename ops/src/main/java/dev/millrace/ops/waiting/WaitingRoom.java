package dev.millrace.ops.waiting;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/**
 * Lines of waiters at one resource. Only the head of a line is served; whenever the resource
 * changes, its owner calls {@link #serve}, which lets all lines go on as far as they can.
 *
 * <p>Threading: any thread. Waiters are asked to advance under the resource's lock and told the
 * outcome outside of it, so the owner must not hold it when calling in here.
 */
public final class WaitingRoom {
  /** A line, with the name of what those in it are waiting to do. */
  public static final class Line {
    private final String operation;
    private final ArrayDeque<Waiter> waiters = new ArrayDeque<>();

    public Line(String operation) {
      this.operation = operation;
    }

    private MillraceException cancelled() {
      return new MillraceException(Code.CANCELLED, operation + " operation was cancelled");
    }
  }

  private final Object lock;
  private final List<Line> lines;

  /** A room for waiters at what {@code lock} guards. */
  public WaitingRoom(Object lock, Line... lines) {
    this.lock = lock;
    this.lines = List.of(lines);
  }

  /** Lets a waiter in at the end of a line; it may be served at once. */
  public void enter(Line line, Waiter w) {
    // Before it stands in line: a step that is over already must not be found there.
    w.listen(() -> cancel(line, w));
    synchronized (lock) {
      if (!w.isOver()) {
        line.waiters.addLast(w);
      }
    }
    serve();
  }

  /** Lets the lines go on as far as they can. */
  public void serve() {
    List<Waiter> served = new ArrayList<>();
    synchronized (lock) {
      boolean changed;
      do {
        changed = false;
        for (Line line : lines) {
          changed |= serve(line, served);
        }
      } while (changed);
    }
    served.forEach(Waiter::end);
  }

  private static boolean serve(Line line, List<Waiter> served) {
    boolean changed = false;
    while (!line.waiters.isEmpty()) {
      Waiter head = line.waiters.getFirst();
      Waiter.Progress p = head.advance();
      changed |= p != Waiter.Progress.NONE;
      if (p != Waiter.Progress.DONE) {
        return changed;
      }
      line.waiters.removeFirst();
      head.claim();
      served.add(head);
    }
    return changed;
  }

  /** Ends the wait of all in a line as a cancellation of their steps would. */
  public void cancelAll(Line line) {
    failAll(line, line.cancelled());
  }

  /** Ends the wait of all in a line for this reason. */
  public void failAll(Line line, MillraceException why) {
    List<Waiter> all;
    synchronized (lock) {
      all = new ArrayList<>(line.waiters);
      line.waiters.clear();
      for (Waiter w : all) {
        w.claim();
        w.failWith(why);
      }
    }
    all.forEach(Waiter::end);
    serve();
  }

  private void cancel(Line line, Waiter w) {
    synchronized (lock) {
      if (!w.claim()) {
        return;
      }
      line.waiters.remove(w);
      w.failWith(line.cancelled().asDerived());
    }
    w.end();
    // What it gave back, or its place at the head of the line, may serve another.
    serve();
  }
}
