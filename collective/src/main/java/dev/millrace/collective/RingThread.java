package dev.millrace.collective;

import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.collective.member.Packet;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Consumer;

/**
 * The thread on which a ring's operations run, one order after the other.
 *
 * <p>Threading: orders may come from any thread; everything else happens on the thread itself.
 */
final class RingThread {
  private static final Duration PATIENCE = Duration.ofSeconds(2);
  private static final long LOOK_NANOS = 100_000_000L;

  private final Ring ring;
  private final Communicator all;
  private final Consumer<Packet> post;
  private final Map<List<Integer>, Communicator> communicators = new HashMap<>();
  private final BlockingQueue<Runnable> tasks = new LinkedBlockingQueue<>();
  private final Timers timers;
  private final Thread thread;
  private volatile boolean closing;

  /** Whether this rank has joined and contributes zeros. */
  private volatile boolean joined;

  /** Null unless this rank keeps one. */
  private final Timeline timeline;

  /** How long to wait for this rank's own tensors of a sequence. */
  private final Duration patience;

  RingThread(
      Ring ring, Communicator all, Consumer<Packet> post, Timeline timeline, Settings settings) {
    this.ring = ring;
    this.all = all;
    this.post = post;
    this.timeline = timeline;
    this.patience = settings.stallDeadline();
    communicators.put(List.of(), all);
    this.timers = settings.platform().timers();
    thread = settings.platform().newThread("millrace-ring-" + all.rank(), this::run);
    thread.start();
  }

  /** Follows an order when those before it are done. Does not wait. */
  void order(ReductionOrder order) {
    execute(() -> follow(order));
  }

  /** Runs something on the thread when what came before is done. Does not wait. */
  void execute(Runnable task) {
    tasks.add(task);
  }

  void join(boolean value) {
    joined = value;
  }

  private void run() {
    while (!closing) {
      try {
        Runnable task = timers.poll(tasks, LOOK_NANOS);
        if (task != null) {
          task.run();
        }
      } catch (InterruptedException e) {
        return;
      } catch (RuntimeException | Error e) {
        // Without this thread nothing would end any more.
        ring.abort(e);
      }
    }
  }

  private void follow(ReductionOrder order) {
    switch (order) {
      case ReductionOrder.Run r -> run(r);
      case ReductionOrder.Failed f -> ring.end(f.key(), f.cause());
      case ReductionOrder.AllJoined j -> ring.allJoined(j.last());
      case ReductionOrder.Warning w -> ring.warn(w.text());
    }
  }

  private void run(ReductionOrder.Run order) {
    List<Operation> operations = ring.take(order.requests());
    try {
      if (!joined && operations.contains(null)) {
        // Failed here meanwhile, for instance because the ring is being closed.
        throw MillraceException.failedPrecondition(
            "Rank %d was to run an operation it has given up.", all.rank());
      }
      Communicator ranks =
          communicators.computeIfAbsent(order.requests().getFirst().members(), this::subset);
      List<Object> results = results(ranks, order, operations);
      if (order.reports()) {
        post.accept(Packet.empty().putByte(Negotiator.DONE).putLong(order.number()));
      }
      for (int i = 0; i < results.size(); i++) {
        if (operations.get(i) != null) {
          operations.get(i).complete(results.get(i));
        }
      }
    } catch (RuntimeException | Error e) {
      operations.forEach(o -> fail(o, MillraceException.of(e)));
      throw e;
    }
  }

  private List<Object> results(
      Communicator ranks, ReductionOrder.Run order, List<Operation> operations) {
    if (timeline == null) {
      return runOrder(ranks, order, operations);
    }
    timeline.started(order.requests());
    try {
      return runOrder(ranks, order, operations);
    } finally {
      timeline.ended(order.requests());
    }
  }

  private List<Object> runOrder(
      Communicator ranks, ReductionOrder.Run order, List<Operation> operations) {
    Request first = order.requests().getFirst();
    if (first.kind() != Request.Kind.SEQUENCE) {
      return new Runner(ranks).run(order, operations);
    }
    Operation o = operations.getFirst();
    SequenceRun run = new SequenceRun(ranks, first, order.sizes()[0], timeline);
    run.run(o == null ? null : o.pass(), patience, this::check);
    return List.of(true);
  }

  /** Throws what has ended the ring, if anything has. */
  private void check() {
    if (ring.failure() != null) {
      throw ring.failure();
    }
  }

  private static void fail(Operation o, MillraceException cause) {
    if (o != null) {
      o.fail(cause);
    }
  }

  private Communicator subset(List<Integer> members) {
    return all.subset(members.stream().mapToInt(Integer::intValue).toArray());
  }

  /**
   * Ends the thread, which may first finish the operation it is in. If that takes too long the job
   * is aborted. Returns whether the thread has ended.
   */
  boolean end() {
    closing = true;
    boolean ended = await();
    if (!ended) {
      all.abort(
          MillraceException.failedPrecondition(
              "The ring was closed in the middle of an operation."));
      ended = await();
    }
    if (ended) {
      communicators.values().stream().filter(c -> c != all).forEach(Communicator::close);
    }
    return ended;
  }

  private boolean await() {
    try {
      return thread == Thread.currentThread() || timers.join(thread, PATIENCE);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }
}
