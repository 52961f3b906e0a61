package dev.millrace.ops.accumulator;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.resource.Resources;
import dev.millrace.graph.resource.StateJournal;
import dev.millrace.ops.waiting.Waiter;
import dev.millrace.ops.waiting.WaitingRoom;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sums gradients until as many have come as a taker asks for. It counts the global steps: a
 * gradient computed in an earlier step than the current one is dropped without a word, and each
 * taking begins the next step.
 *
 * <p>Threading: any thread; takers are served in order.
 */
public abstract class GradientAccumulator implements Resources.Resource {
  /** What an accumulator was declared as. */
  record Spec(String kind, String name, DType dtype, Shape shape, boolean mean) {}

  private static final Logger LOG = LoggerFactory.getLogger(GradientAccumulator.class);

  private final Spec spec;
  private final WaitingRoom.Line taking = new WaitingRoom.Line("TakeGrad");
  private final WaitingRoom room = new WaitingRoom(this, taking);
  private int count;
  private long globalStep;
  private long dropped;

  /** Told of every change under the lock; null where state is kept in memory only. */
  private StateJournal journal;

  GradientAccumulator(Spec spec) {
    this.spec = spec;
  }

  @Override
  public String kind() {
    return spec.kind();
  }

  @Override
  public final synchronized void reportTo(StateJournal to) {
    journal = to;
  }

  /** Under the lock. */
  private void changedBy(KernelContext c) {
    if (journal != null) {
      journal.changed(c.stepId());
    }
  }

  final Spec spec() {
    return spec;
  }

  /** How many gradients are in the sum. */
  public final synchronized int count() {
    return count;
  }

  /** The step whose gradients are being collected. */
  public final synchronized long globalStep() {
    return globalStep;
  }

  /** How many gradients came too late and were dropped. */
  public final synchronized long dropped() {
    return dropped;
  }

  /** Says which step it is now. */
  final synchronized void setGlobalStep(KernelContext c, long step) {
    if (step < globalStep) {
      LOG.debug("{} '{}' is set back from step {} to {}.", kind(), spec.name(), globalStep, step);
    }
    globalStep = step;
    changedBy(c);
  }

  /** Adds the gradient in the inputs of {@code c} if {@code localStep} is not outdated. */
  final void apply(KernelContext c, long localStep) {
    synchronized (this) {
      if (localStep < globalStep) {
        dropped++;
        return;
      }
      add(c, count);
      count++;
      changedBy(c);
    }
    room.serve();
  }

  /** Gives the outputs of {@code c} the reduced gradient once {@code required} have come. */
  final void take(KernelContext c, int required, Runnable done) {
    if (required <= 0) {
      throw MillraceException.invalid(
          "%s '%s': Argument num_required must be positive, but is %d.",
          c.node().op().name(), c.node().name(), required);
    }
    room.enter(taking, new Take(c, required, done));
  }

  /** Ends it: takers fail and the sum is given up. */
  @Override
  public final void close() {
    room.failAll(
        taking,
        new MillraceException(
            Code.CANCELLED, "%s '%s' was removed.".formatted(kind(), spec.name())));
    synchronized (this) {
      count = 0;
      clear();
    }
  }

  /** Adds a gradient to the sum of {@code before} others. Under the lock. */
  abstract void add(KernelContext c, int before);

  /** Reduces the sum of {@code n} gradients and begins a new one. Under the lock. */
  abstract Delivery reduce(int n);

  /** Gives up the sum. Under the lock. */
  abstract void clear();

  /** A reduced gradient on its way to the outputs that take it over. */
  interface Delivery {
    void to(KernelContext c);
  }

  private final class Take extends Waiter {
    private final int required;
    private Delivery delivery;

    Take(KernelContext c, int required, Runnable done) {
      super(c, done);
      this.required = required;
    }

    @Override
    protected Progress advance() {
      if (count < required) {
        return Progress.NONE;
      }
      globalStep++;
      delivery = reduce(count);
      count = 0;
      changedBy(context());
      return Progress.DONE;
    }

    @Override
    protected void deliver() {
      delivery.to(context());
    }
  }
}
