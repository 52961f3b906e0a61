package dev.millrace.ops.queue;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.resource.Resources;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.ops.state.ResourceHandles;
import dev.millrace.ops.waiting.Waiter;
import dev.millrace.ops.waiting.WaitingRoom;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.VariantValue;
import java.util.List;

/**
 * A lock that one step holds at a time: what TensorFlow's critical sections are made of. The lock
 * is a variant value, and is given back with the last tensor that holds it, so that a step that
 * fails on the way gives it back too.
 *
 * <p>Threading: any thread.
 */
final class Mutex implements Resources.Resource {
  private static final String WHY = "a lock is not a number";

  static final List<Op> OPS =
      List.of(
          Op.define("MutexV2")
              .attr("container: string = ''")
              .attr("shared_name: string = ''")
              .output("resource: resource")
              .stateful()
              .shape(Shapes.scalar())
              .kernelPerNode(Mutex::maker)
              .noGradient(WHY)
              .build(),
          Op.define("MutexLock")
              .input("mutex: resource")
              .output("mutex_lock: variant")
              .stateful()
              .shape(Shapes.scalar())
              .asyncKernel(
                  node -> (c, done) -> ResourceHandles.resource(c, 0, Mutex.class).acquire(c, done))
              .noGradient(WHY)
              .build(),
          Op.define("ConsumeMutexLock")
              .input("mutex_lock: variant")
              .stateful()
              .shape(
                  c -> {
                    c.inputOfRank(0, 0);
                    return List.of();
                  })
              .kernel(Mutex::consume)
              .noGradient(WHY)
              .build());

  private final WaitingRoom.Line locking = new WaitingRoom.Line("MutexLock");
  private final WaitingRoom room = new WaitingRoom(this, locking);

  /** Guarded by this. */
  private boolean isHeld;

  private static Kernel maker(Node node) {
    String container = node.stringAttr("container");
    String name = ResourceHandles.nameOf(node);
    Tensor handle = ResourceHandles.of(node, "Mutex");
    return c -> {
      c.resources().getOrCreate(container, name, Mutex.class, Mutex::new);
      c.output(0, handle);
    };
  }

  private static void consume(KernelContext c) {
    Tensor t = c.input(0);
    if (t.elements() != 1 || !(t.objects()[0] instanceof Lock lock)) {
      throw MillraceException.invalid("Expected input to be a mutex lock, saw %s.", t);
    }
    lock.giveBack();
  }

  @Override
  public String kind() {
    return "Mutex";
  }

  private void acquire(KernelContext c, Runnable done) {
    room.enter(locking, new Acquire(c, done));
  }

  private void release() {
    synchronized (this) {
      isHeld = false;
    }
    room.serve();
  }

  private final class Acquire extends Waiter {
    Acquire(KernelContext c, Runnable done) {
      super(c, done);
    }

    @Override
    protected Progress advance() {
      if (isHeld) {
        return Progress.NONE;
      }
      isHeld = true;
      return Progress.DONE;
    }

    @Override
    protected void deliver() {
      context().output(0, VariantValue.tensor(new Lock(Mutex.this)));
    }
  }

  /** The lock of a mutex, held until it is consumed or forgotten. */
  private static final class Lock extends VariantValue {
    private Mutex mutex;

    Lock(Mutex mutex) {
      this.mutex = mutex;
    }

    void giveBack() {
      Mutex held;
      synchronized (this) {
        held = mutex;
        mutex = null;
      }
      if (held != null) {
        held.release();
      }
    }

    @Override
    public String typeName() {
      return "Mutex::LockReleaser";
    }

    @Override
    public byte[] metadata() {
      throw MillraceException.invalid("The lock of a mutex cannot leave its task.");
    }

    @Override
    public List<Tensor> tensors() {
      return List.of();
    }

    @Override
    protected void free() {
      giveBack();
    }
  }
}
