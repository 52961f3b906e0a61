package dev.millrace.collective.member;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Platform;
import dev.millrace.base.Timers;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;

/**
 * One rank's connection to the coordinator of its job. A thread of its own reads it and shows the
 * coordinator that this process lives, whatever the other threads are busy with.
 *
 * <p>Threading: any thread may call any method. Listeners are called on the member's thread and
 * must not wait.
 */
public final class Member implements Liveness, AutoCloseable {
  /** How long {@link #fail} waits to hear which failure was the first. */
  private static final Duration VERDICT = Duration.ofSeconds(3);

  private final int rank;
  private final int size;
  private final Timeouts terms;
  private final Timers timers;
  private final InetSocketAddress coordinator;
  private final FrameChannel frames;
  private final Selector selector;
  private final SelectionKey key;
  private final Thread thread;
  private final CompletableFuture<Void> welcome = new CompletableFuture<>();
  private final AtomicReference<MillraceException> failure = new AtomicReference<>();
  private final CompletableFuture<MillraceException> verdict = new CompletableFuture<>();
  private final List<Consumer<MillraceException>> failureListeners = new CopyOnWriteArrayList<>();
  private final Map<String, CompletableFuture<byte[][]>> exchanges = new ConcurrentHashMap<>();
  private final Set<Integer> left = ConcurrentHashMap.newKeySet();
  private volatile Consumer<Packet> service = p -> {};
  private volatile boolean leaving;
  private volatile boolean closing;
  private long heardNanos;

  private Member(
      int rank,
      int size,
      Timeouts terms,
      Platform platform,
      InetSocketAddress coordinator,
      SocketChannel channel)
      throws IOException {
    this.timers = platform.timers();
    this.heardNanos = timers.now();
    this.rank = rank;
    this.size = size;
    this.terms = terms;
    this.coordinator = coordinator;
    channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
    this.frames = new FrameChannel(channel);
    this.selector = platform.sockets().openSelector();
    this.key = channel.register(selector, SelectionKey.OP_READ);
    this.thread = platform.newThread("millrace-member-" + rank, this::run);
  }

  /** A rank of the job, over a connection on which the coordinator knows it; is welcomed. */
  static Member start(
      int rank,
      int size,
      Timeouts terms,
      Platform platform,
      InetSocketAddress coordinator,
      SocketChannel channel)
      throws IOException {
    Member member = new Member(rank, size, terms, platform, coordinator, channel);
    member.thread.start();
    member.await(member.welcome, platform.timers().now() + terms.join().toNanos(), "be welcomed");
    return member;
  }

  private static long millis(long nanos) {
    return TimeUnit.NANOSECONDS.toMillis(nanos);
  }

  /** This rank. */
  public int rank() {
    return rank;
  }

  /** How many ranks the job has. */
  public int size() {
    return size;
  }

  /** The address by which this process reached the coordinator: others can reach it there too. */
  public InetSocketAddress localAddress() {
    try {
      return (InetSocketAddress) frames.channel().getLocalAddress();
    } catch (IOException e) {
      throw new MillraceException(Code.UNAVAILABLE, "The coordinator's connection is closed.", e);
    }
  }

  // ---- the member's own thread ----

  private void run() {
    long beatNanos = terms.liveness().toNanos() / 8;
    long lastBeatNanos = timers.now() - beatNanos;
    try {
      while (!closing) {
        frames.receive(this::handle);
        // Whoever has more to send meanwhile wakes the selector, so that this comes by again.
        key.interestOps(SelectionKey.OP_READ | (frames.flush() ? 0 : SelectionKey.OP_WRITE));
        long now = timers.now();
        if (now - lastBeatNanos >= beatNanos) {
          // If this process itself was held up, the coordinator's silence says nothing.
          boolean heldUp = now - lastBeatNanos > 2 * beatNanos + 1_000_000_000;
          checkSilence(now, heldUp);
          lastBeatNanos = now;
          send(Message.HEARTBEAT, Packet.empty());
        }
        selector.select(Math.max(1, millis(lastBeatNanos + beatNanos - now)));
        selector.selectedKeys().clear();
      }
    } catch (IOException | RuntimeException e) {
      if (!closing && !leaving) {
        String how = e.getMessage() == null ? e.toString() : e.getMessage();
        settle(
            new MillraceException(
                Code.UNAVAILABLE,
                String.format(
                    "Rank %d lost the job's coordinator at %s:%d, which runs with rank 0 or the"
                        + " launcher: %s. That process died, is stopped or cut off.",
                    rank, coordinator.getHostString(), coordinator.getPort(), how)));
      }
    } finally {
      frames.close();
      try {
        selector.close();
      } catch (IOException e) {
        // Nobody is left to tell.
      }
    }
  }

  private void checkSilence(long now, boolean heldUp) throws IOException {
    if (heldUp) {
      heardNanos = now;
    } else if (now - heardNanos > terms.liveness().toNanos()) {
      throw new IOException(
          String.format("it has been silent for %.1f s", (now - heardNanos) / 1e9));
    }
  }

  private void handle(byte type, byte[] contents) {
    heardNanos = timers.now();
    Packet p = Packet.of(contents);
    switch (type) {
      case Message.WELCOME -> welcome.complete(null);
      case Message.REFUSED -> welcome.completeExceptionally(JobState.unpack(p));
      case Message.EXCHANGE -> completeExchange(p);
      case Message.FAILED -> settle(JobState.unpack(p));
      case Message.LEFT -> left.add(p.getInt());
      case Message.SERVICE -> service.accept(p);
      default -> {}
    }
  }

  private void completeExchange(Packet p) {
    CompletableFuture<byte[][]> waiting = exchanges.remove(p.getString());
    byte[][] all = new byte[p.getInt()][];
    for (int r = 0; r < all.length; r++) {
      all[r] = p.getBytes();
    }
    if (waiting != null) {
      waiting.complete(all);
    }
  }

  private void send(byte type, Packet contents) throws IOException {
    if (!frames.send(type, contents.toBytes()) && key.isValid()) {
      key.interestOps(SelectionKey.OP_READ | SelectionKey.OP_WRITE);
      selector.wakeup();
    }
  }

  // ---- what went wrong ----

  @Override
  public MillraceException failure() {
    return failure.get();
  }

  @Override
  public boolean hasLeft(int other) {
    return left.contains(other);
  }

  /** Makes this the job's failure here, if there is none yet. */
  private void settle(MillraceException cause) {
    if (failure.compareAndSet(null, cause)) {
      verdict.complete(cause);
      welcome.completeExceptionally(cause);
      exchanges.values().forEach(e -> e.completeExceptionally(cause));
      failureListeners.forEach(l -> l.accept(cause));
    }
  }

  /** Calls {@code listener} with the job's first failure, at once if there is one already. */
  public void onFailure(Consumer<MillraceException> listener) {
    failureListeners.add(listener);
    MillraceException known = failure.get();
    if (known != null) {
      listener.accept(known);
    }
  }

  @Override
  public MillraceException fail(MillraceException cause) {
    return report(Message.FAILED, JobState.pack(cause), cause);
  }

  @Override
  public MillraceException lost(int other, String how) {
    String text = "Rank " + rank + " lost its data connection to rank " + other + ": " + how;
    MillraceException own = new MillraceException(Code.UNAVAILABLE, text);
    return report(Message.LOST, Packet.empty().putInt(other).putString(how), own);
  }

  /** Reports to the coordinator and waits for what it says was first. */
  private MillraceException report(byte type, Packet contents, MillraceException own) {
    if (failure.get() == null) {
      try {
        send(type, contents);
        return timers.get(verdict, VERDICT);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      } catch (IOException | TimeoutException | ExecutionException e) {
        // Without a coordinator this rank's own view is the best there is.
      }
      settle(own);
    }
    return failure.get();
  }

  // ---- finding each other ----

  /**
   * Gives something under a key and returns what every rank gave under it, in order of rank. Every
   * rank must do so; waits at most {@link Timeouts#join}.
   */
  public byte[][] exchange(String exchangeKey, byte[] mine) {
    CompletableFuture<byte[][]> all = new CompletableFuture<>();
    exchanges.put(exchangeKey, all);
    MillraceException known = failure.get();
    if (known != null) {
      throw known;
    }
    try {
      send(Message.EXCHANGE, Packet.empty().putString(exchangeKey).putBytes(mine));
    } catch (IOException e) {
      throw fail(new MillraceException(Code.UNAVAILABLE, "The coordinator is gone.", e));
    }
    // The coordinator gives up first, and knows who is missing.
    long end = timers.now() + terms.join().toNanos() + TimeUnit.SECONDS.toNanos(2);
    return await(all, end, "hear what the other ranks say about '" + exchangeKey + "'");
  }

  private <T> T await(CompletableFuture<T> future, long endNanos, String todo) {
    try {
      return timers.get(future, Math.max(1, endNanos - timers.now()));
    } catch (ExecutionException e) {
      throw MillraceException.of(e);
    } catch (TimeoutException e) {
      throw fail(
          new MillraceException(
              Code.DEADLINE_EXCEEDED,
              String.format(
                  "Rank %d has waited %d s to %s at the coordinator %s:%d.",
                  rank,
                  terms.join().toSeconds(),
                  todo,
                  coordinator.getHostString(),
                  coordinator.getPort())));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new MillraceException(Code.CANCELLED, "Interrupted while joining a job.", e);
    }
  }

  // ---- the service beside the coordinator ----

  /** Sends something to the service. Does not wait. */
  public void post(Packet contents) {
    try {
      send(Message.SERVICE, contents);
    } catch (IOException e) {
      // The member's thread finds the same and settles it.
      selector.wakeup();
    }
  }

  /** Takes what the service sends; to be set before it has reason to. */
  public void onService(Consumer<Packet> listener) {
    service = listener;
  }

  // ---- leaving ----

  /** Sends the leave message: this rank takes part in no further operation. */
  public void leave() {
    leaving = true;
    try {
      send(Message.LEAVE, Packet.empty());
    } catch (IOException e) {
      // The coordinator is gone before us.
    }
  }

  /** Closes the connection. Without a leave message before, the others see this rank die. */
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
