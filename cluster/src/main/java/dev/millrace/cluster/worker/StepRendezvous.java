package dev.millrace.cluster.worker;

import dev.millrace.base.Cancellation;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.cluster.collective.Buffers;
import dev.millrace.cluster.collective.TaskCollectives;
import dev.millrace.cluster.peer.PushChannel;
import dev.millrace.graph.resource.CollectiveExecutor;
import dev.millrace.runtime.exec.LocalRendezvous;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArraySet;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A step's rendezvous on one task of a cluster. What is sent to another task is pushed there if
 * there is a way to; else it waits here until that task asks for it. What is to be received from
 * another task arrives here by itself or is asked for, by the same rule.
 *
 * <p>The two ends may see a way open a moment apart. So a receiver that asks also waits for the
 * push, and a sender whose way opens pushes what waits.
 *
 * <p>Threading: any thread.
 */
final class StepRendezvous extends LocalRendezvous {
  /**
   * A variable of this size or more leaves by RecvTensor as it is, as it does from a task of
   * TensorFlow: to copy it takes as long as to send it. An update meanwhile may be in it or not.
   */
  private static final long AS_IT_IS_BYTES = 1 << 20;

  private final long stepId;
  private final Timers timers;

  /** Who this task is in the step; known for sure when the step begins to run here. */
  private volatile ClusterMembership member;

  private final TaskCollectives collectives;
  private final Buffers buffers = new Buffers();
  private final Cancellation fetches = new Cancellation();
  private final Set<PushChannel> used = new CopyOnWriteArraySet<>();

  /** When this was created, or when the step last ran here. */
  private volatile long usedNanos;

  /** Parts of the step that run on this task now. */
  private volatile boolean running;

  /** Whether the step's master has asked this task to run a part of it. */
  private boolean begun;

  /** Calls in progress that use this. */
  private int users;

  /** Peers that asked for a tensor of the step before it began. */
  private int early;

  StepRendezvous(
      long stepId, ClusterMembership member, TaskCollectives collectives, Timers timers) {
    this.timers = timers;
    this.usedNanos = timers.now();
    this.stepId = stepId;
    this.member = member;
    this.collectives = collectives;
  }

  /** Takes a value that another task has pushed, with a counted reference; null for a dead one. */
  void deliver(Key key, Tensor value) {
    super.send(key, value, value == null);
  }

  /** Gives a value that is sent to another task to it, now or when it is sent. */
  void serve(Key key, Receiver receiver) {
    super.recv(key, receiver);
  }

  /** Sends what the master feeds, which is borrowed. */
  void feed(Map<String, Tensor> feeds) {
    feeds.forEach((key, t) -> send(Key.parse(key), Refs.retain(t), false));
  }

  /** What the master fetches: all parts have ended, so what was sent under these keys is there. */
  List<Tensor> take(List<String> keys) {
    List<Tensor> values = new ArrayList<>(keys.size());
    try {
      for (String key : keys) {
        values.add(take(Key.parse(key)));
      }
    } catch (MillraceException e) {
      values.forEach(Refs::release);
      throw e;
    }
    return values;
  }

  /** The pieces of tensors that other tasks fetch for collectives. */
  Buffers buffers() {
    return buffers;
  }

  @Override
  public CollectiveExecutor collectives() {
    return collectives.of(stepId, buffers);
  }

  /** Whether nothing waits here any more. */
  boolean isEmpty() {
    return size() == 0 && buffers.isEmpty();
  }

  /** Says in which cluster the step runs; what was sent here before is not concerned by it. */
  void setMember(ClusterMembership m) {
    member = m;
  }

  void setRunning(boolean r) {
    usedNanos = timers.now();
    running = r;
  }

  /**
   * Whether the step has not run for so long that its master must be gone.
   *
   * @param earlyNanos the limit for a step that its master has not begun
   */
  boolean isAbandoned(long nanos, long earlyNanos) {
    return !running && timers.now() - usedNanos > (hasBegun() ? nanos : earlyNanos);
  }

  private synchronized boolean hasBegun() {
    return begun;
  }

  /** Marks the step as begun, or as never to begin. Returns the number of early waiters. */
  synchronized int begin() {
    int waited = early;
    begun = true;
    early = 0;
    return waited;
  }

  /** Counts a peer that waits before the step has begun; false if it has begun. */
  synchronized boolean addEarlyWaiter() {
    early += begun ? 0 : 1;
    return !begun;
  }

  /** Removes such a peer; false if the step has begun meanwhile. */
  synchronized boolean removeEarlyWaiter() {
    early -= begun ? 0 : 1;
    return !begun;
  }

  /** Keeps this until {@link #release}. */
  synchronized void retain() {
    users++;
  }

  /** Ends a use. Returns whether this may have become unused. */
  synchronized boolean release() {
    users--;
    return users == 0 && !begun;
  }

  /** Whether the step has not begun, no call uses this, and no tensor or receiver is in it. */
  synchronized boolean isUnused() {
    return users == 0 && !begun && isEmpty();
  }

  private static String taskOf(String device) {
    int at = device.lastIndexOf("/device:");
    return at < 0 ? device : device.substring(0, at);
  }

  @Override
  public void send(Key key, Tensor value, boolean dead) {
    String destination = taskOf(key.recvDevice());
    PushChannel outlet = outletTo(destination);
    if (outlet != null) {
      used.add(outlet);
      outlet.push(stepId, key, value);
      return;
    }
    super.send(key, value, dead);
    PushChannel opened = outletTo(destination);
    if (opened != null) {
      pushWaiting(destination, opened);
    }
  }

  @Override
  public Tensor stage(Key key, Tensor value) {
    String destination = taskOf(key.recvDevice());
    PushChannel outlet = outletTo(destination);
    if (outlet != null) {
      return outlet.stage(value);
    }
    boolean sentAsItIs =
        value.byteSize() >= AS_IT_IS_BYTES && !destination.equals(member.taskName());
    return sentAsItIs ? Refs.retain(value) : Refs.copy(value);
  }

  @Override
  public Tensor room(Key key, DType dtype, Shape shape) {
    PushChannel outlet = outletTo(taskOf(key.recvDevice()));
    return outlet == null ? null : outlet.room(dtype, shape);
  }

  /** The way to push to a task; null if there is none, and for this task itself. */
  private PushChannel outletTo(String task) {
    return task.equals(member.taskName()) ? null : member.peers().outlet(task);
  }

  /** Pushes what was sent to a task before there was a way to it. */
  void pushWaiting(String destination, PushChannel outlet) {
    drain(
        key -> taskOf(Key.parse(key).recvDevice()).equals(destination),
        (key, value) -> {
          used.add(outlet);
          outlet.push(stepId, Key.parse(key), value);
        });
  }

  @Override
  public void flush() {
    used.forEach(PushChannel::flush);
  }

  @Override
  public void recv(Key key, Receiver receiver) {
    String source = taskOf(key.sendDevice());
    if (source.equals(member.taskName()) || member.peers().outlet(source) != null) {
      super.recv(key, receiver);
      if (!source.equals(member.taskName()) && member.peers().outlet(source) == null) {
        lost(
            source,
            new MillraceException(Code.UNAVAILABLE, source + " has gone while the step began."));
      }
      return;
    }
    FirstOf both = new FirstOf(key, receiver);
    super.recv(key, both);
    try {
      member.peers().peer(source).recvTensor(stepId, key, both.asking, both);
    } catch (MillraceException e) {
      both.failed(e);
    }
    Cancellation.Registration onAbort = fetches.onCancel(() -> both.asking.cancel(fetches.cause()));
    both.afterwards(onAbort);
  }

  /** Another task is gone: what is still awaited from it will not come. */
  void lost(String task, MillraceException cause) {
    for (String key : awaited()) {
      if (key.startsWith(task + "/device:")) {
        abort(cause);
        return;
      }
    }
  }

  @Override
  public void abort(MillraceException cause) {
    super.abort(cause);
    buffers.abort(cause);
    fetches.cancel(cause);
  }

  /** Takes what comes first, the answer or the push, and stops asking. */
  private final class FirstOf implements Receiver {
    private final Key key;
    private final Receiver receiver;
    private final Cancellation asking = new Cancellation();
    private final AtomicBoolean taken = new AtomicBoolean();
    private volatile Cancellation.Registration registration;

    FirstOf(Key key, Receiver receiver) {
      this.key = key;
      this.receiver = receiver;
    }

    void afterwards(Cancellation.Registration r) {
      registration = r;
      if (taken.get()) {
        r.close();
      }
    }

    private boolean take() {
      if (!taken.compareAndSet(false, true)) {
        return false;
      }
      withdraw(key, this);
      Cancellation.Registration r = registration;
      if (r != null) {
        r.close();
      }
      return true;
    }

    @Override
    public void received(Tensor value, boolean dead) {
      if (take()) {
        asking.cancel(new MillraceException(Code.CANCELLED, "It came by itself.").asDerived());
        receiver.received(value, dead);
      } else if (value != null) {
        Refs.release(value);
      }
    }

    @Override
    public void failed(MillraceException cause) {
      if (take()) {
        receiver.failed(cause);
      }
    }
  }
}
