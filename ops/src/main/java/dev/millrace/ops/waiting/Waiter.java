package dev.millrace.ops.waiting;

import dev.millrace.base.Cancellation;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;

/**
 * The execution of an asynchronous op that waits in a {@link WaitingRoom}. It ends exactly once:
 * served, cancelled or failed.
 */
public abstract class Waiter {
  /** How far an attempt came. */
  public enum Progress {
    /** Nothing has changed. */
    NONE,
    /** Something has, but not enough: others may go on now. */
    SOME,
    /** The wait is over. */
    DONE
  }

  private final KernelContext c;
  private final Runnable done;
  private Cancellation.Registration registration;

  /** Set under the room's lock by whoever ends the wait. */
  private boolean over;

  private MillraceException failure;

  /** The execution of an op in context {@code c} that ends with {@code done}. */
  protected Waiter(KernelContext c, Runnable done) {
    this.c = c;
    this.done = done;
  }

  /** Does what can be done now. Called at the head of the line, under the lock. */
  protected abstract Progress advance();

  /** Gives back what was taken, as the wait ends in vain. Called under the lock. */
  protected void undo() {}

  /** Sets the outputs after success. Called outside the lock. */
  protected void deliver() {}

  /** The context of the op's execution. */
  protected final KernelContext context() {
    return c;
  }

  /** Makes the wait one that ends in vain; {@link #advance} then says it is done. */
  protected final void failWith(MillraceException why) {
    undo();
    failure = why;
  }

  /** Listens to the step's cancellation, which may have come already. */
  final void listen(Runnable cancel) {
    registration = c.cancellation().onCancel(cancel);
  }

  /** Whether the caller is the one to end the wait. Under the lock. */
  final boolean claim() {
    boolean mine = !over;
    over = true;
    return mine;
  }

  final boolean isOver() {
    return over;
  }

  /** Tells the op what its wait led to. Outside the lock. */
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
