package dev.millrace.collective.member;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Platform;
import dev.millrace.base.Timers;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Where the ranks of one job meet: it lets them in, passes on what they exchange to find each
 * other, watches who lives, and tells all of them the first thing that went wrong. It runs in the
 * process of rank 0 or in that of the launcher. What it decides is in {@link JobState}.
 *
 * <p>Threading: all state belongs to the coordinator's own thread; the public methods may be called
 * from any.
 */
public final class RingCoordinator implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(RingCoordinator.class);
  private static final long TICK_MILLIS = 100;
  private static final long AWAIT_NANOS = 5_000_000L;

  private record Arrival(Handshake.Hello hello, SocketChannel channel) {}

  /** A rank's connection. */
  private record Slot(FrameChannel frames, SelectionKey key) {
    boolean isBehind() {
      return key.isValid() && (key.interestOps() & SelectionKey.OP_WRITE) != 0;
    }
  }

  private final Timeouts terms;
  private final Timers timers;
  private final Acceptor door;
  private final Selector selector;
  private final Thread thread;
  private final JobState job;
  private final Queue<Arrival> arrivals = new ConcurrentLinkedQueue<>();

  /** The ranks' connections; null for ranks that are not, or no longer, there. */
  private final Slot[] slots;

  private volatile boolean closing;
  private volatile boolean over;

  /** Whether the thread looks at no arrivals any more. */
  private volatile boolean ended;

  private RingCoordinator(
      int size,
      Timeouts terms,
      Platform platform,
      Token token,
      ServerSocketChannel listener,
      Service.Factory service)
      throws IOException {
    this.timers = platform.timers();
    this.terms = terms;
    this.slots = new Slot[size];
    this.selector = platform.sockets().openSelector();
    InetSocketAddress at = (InetSocketAddress) listener.getLocalAddress();
    String meetsAt = at.getHostString() + ":" + at.getPort();
    this.job = new JobState(size, terms, meetsAt, service, this::send, timers.now());
    this.thread = platform.newThread("millrace-coordinator", this::run);
    this.door = Acceptor.open(listener, token, platform, this::arrive);
    thread.start();
  }

  /**
   * Starts the coordinator of a job of {@code size} ranks, listening at {@code bind}; port 0 takes
   * any free one.
   */
  public static RingCoordinator start(
      int size,
      Timeouts terms,
      Platform platform,
      Token token,
      InetSocketAddress bind,
      Service.Factory service) {
    ServerSocketChannel listener = null;
    try {
      listener = platform.sockets().openServerSocketChannel();
      listener.setOption(StandardSocketOptions.SO_REUSEADDR, true);
      listener.bind(bind, Math.max(128, size));
      return new RingCoordinator(size, terms, platform, token, listener, service);
    } catch (IOException | RuntimeException e) {
      try {
        if (listener != null) {
          listener.close();
        }
      } catch (IOException again) {
        e.addSuppressed(again);
      }
      throw new MillraceException(
          Code.UNAVAILABLE,
          String.format(
              "The job's coordinator cannot listen on %s:%d: %s. Stop the other process there or"
                  + " choose another rendezvous address.",
              bind.getHostString(), bind.getPort(), e.getMessage() == null ? e : e.getMessage()),
          e);
    }
  }

  /** Where it listens. */
  public InetSocketAddress address() {
    return (InetSocketAddress) door.address();
  }

  private void arrive(Handshake.Hello hello, SocketChannel channel) {
    arrivals.add(new Arrival(hello, channel));
    selector.wakeup();
    if (ended) {
      refuseArrivals();
    }
  }

  /** Nobody is let in any more; whoever has just shown the token sees its connection close. */
  private void refuseArrivals() {
    for (Arrival a = arrivals.poll(); a != null; a = arrivals.poll()) {
      new FrameChannel(a.channel).close();
    }
  }

  private void run() {
    long lastNanos = timers.now();
    try {
      while (!closing) {
        selector.select(this::serve, TICK_MILLIS);
        admitArrivals();
        long now = timers.now();
        job.tick(now, now - lastNanos > TimeUnit.SECONDS.toNanos(1));
        lastNanos = now;
        over = job.isOver(r -> slots[r] != null && slots[r].isBehind());
      }
    } catch (IOException | RuntimeException e) {
      LOG.error("The coordinator stops: {}", e, e);
    } finally {
      door.close();
      for (Slot s : slots) {
        if (s != null) {
          s.frames.close();
        }
      }
      over = true;
      ended = true;
      refuseArrivals();
      try {
        selector.close();
      } catch (IOException e) {
        // Nobody is left to tell.
      }
    }
  }

  private void admitArrivals() {
    for (Arrival a = arrivals.poll(); a != null; a = arrivals.poll()) {
      FrameChannel frames = new FrameChannel(a.channel);
      try {
        String refusal = job.refusal(a.hello);
        if (refusal == null) {
          admit(a, frames);
        } else {
          MillraceException why = new MillraceException(Code.FAILED_PRECONDITION, refusal);
          frames.send(Message.REFUSED, JobState.pack(why).toBytes());
          frames.close();
        }
      } catch (IOException e) {
        frames.close();
      }
    }
  }

  private void admit(Arrival a, FrameChannel frames) throws IOException {
    int rank = a.hello.rank();
    a.channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
    String address = a.channel.getRemoteAddress().toString().replaceFirst("^/", "");
    slots[rank] = new Slot(frames, a.channel.register(selector, SelectionKey.OP_READ, rank));
    job.join(rank, address, timers.now());
    if (job.isComplete()) {
      door.close();
    }
  }

  private void serve(SelectionKey key) {
    int rank = (Integer) key.attachment();
    Slot s = slots[rank];
    try {
      s.frames.receive((type, p) -> job.receive(rank, type, Packet.of(p), timers.now()));
      if (s.isBehind() && s.frames.flush()) {
        s.key.interestOps(SelectionKey.OP_READ);
      }
    } catch (EOFException e) {
      lose(rank, "closed without a leave message");
    } catch (IOException e) {
      lose(rank, "broke: " + e.getMessage());
    } catch (RuntimeException e) {
      // Whatever is wrong with one rank's message must not end the others' coordinator.
      lose(rank, "carried nonsense: " + e.getMessage());
    }
  }

  private void send(int rank, byte type, Packet contents) {
    Slot s = slots[rank];
    if (s == null) {
      return;
    }
    boolean waits = false;
    try {
      waits = !s.frames.send(type, contents.toBytes());
    } catch (IOException e) {
      // The rank may have left; what is read from it next will tell.
      LOG.debug("Rank {} takes nothing more: {}", rank, e.toString());
    }
    s.key.interestOps(SelectionKey.OP_READ | (waits ? SelectionKey.OP_WRITE : 0));
  }

  private void lose(int rank, String how) {
    Slot s = slots[rank];
    if (s != null) {
      slots[rank] = null;
      s.key.cancel();
      s.frames.close();
      job.lose(rank, how);
    }
  }

  /**
   * Waits until all ranks have left, or the job has failed and all have been told, at most this
   * long. Returns whether that is so.
   */
  public boolean awaitEnd(Duration atMost) {
    long end = timers.now() + atMost.toNanos();
    while (!over && timers.now() - end < 0) {
      try {
        timers.sleep(AWAIT_NANOS);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return over;
      }
    }
    return over;
  }

  /** Ends at once. Ranks that have not left see the coordinator die. */
  @Override
  public void close() {
    closing = true;
    selector.wakeup();
    try {
      timers.join(thread, terms.close());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
