package dev.millrace.collective.member;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.IntPredicate;

/**
 * Where the ranks of one job meet: it seats them, passes on what they exchange to find each other,
 * watches who lives, and tells all of them the first thing that went wrong. It runs in the process
 * of rank 0 or in that of the launcher.
 *
 * <p>A rank whose connection closes without a goodbye is dead at once; one that is silent for too
 * long is dead too. A broken data stream alone says little about which end is to blame, so such a
 * report waits a moment for a better explanation.
 *
 * <p>Threading: all state belongs to the coordinator's own thread; the public methods may be called
 * from any.
 */
public final class Coordinator implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(Coordinator.class.getName());
  private static final long TICK_MILLIS = 100;

  /** How long a broken data stream waits for news of the rank at its other end. */
  private static final long SUSPICION_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

  /** How often a wait for ranks to join is logged. */
  private static final long REMINDER_NANOS = TimeUnit.SECONDS.toNanos(10);

  private record Arrival(Handshake.Hello hello, SocketChannel channel) {}

  private record Suspicion(long dueNanos, int reporter, int suspect, String how) {}

  /** A rank's place at the table. */
  private static final class Seat {
    FrameChannel frames;
    SelectionKey key;
    String address;
    long heardNanos;
    boolean left;
    boolean gone;
  }

  /** What the ranks have contributed to one exchange. */
  private static final class Round {
    final long sinceNanos = System.nanoTime();
    final byte[][] contributions;

    Round(int size) {
      contributions = new byte[size][];
    }
  }

  private final int size;
  private final Terms terms;
  private final Door door;
  private final String address;
  private final Selector selector;
  private final Thread thread;
  private final Service service;
  private final Queue<Arrival> arrivals = new ConcurrentLinkedQueue<>();
  private final Seat[] seats;
  private final Map<String, Round> rounds = new LinkedHashMap<>();
  private final long startedNanos = System.nanoTime();
  private Suspicion suspicion;
  private MillraceException failure;
  private long remindedNanos = startedNanos;
  private long lastLoopNanos = startedNanos;
  private int seated;
  private volatile boolean closing;
  private volatile boolean deserted;

  private Coordinator(
      int size, Terms terms, Token token, ServerSocketChannel listener, Service.Factory factory)
      throws IOException {
    this.size = size;
    this.terms = terms;
    this.seats = new Seat[size];
    this.selector = Selector.open();
    this.service = factory.create(size, this::post);
    InetSocketAddress at = (InetSocketAddress) listener.getLocalAddress();
    this.address = at.getHostString() + ":" + at.getPort();
    this.thread = Thread.ofPlatform().name("millrace-coordinator").daemon().unstarted(this::run);
    this.door = Door.open(listener, token, this::arrive);
    thread.start();
  }

  /**
   * Starts the coordinator of a job of {@code size} ranks, listening at {@code bind}; port 0 takes
   * any free one.
   */
  public static Coordinator start(
      int size, Terms terms, Token token, InetSocketAddress bind, Service.Factory service) {
    ServerSocketChannel listener = null;
    try {
      listener = ServerSocketChannel.open();
      listener.setOption(StandardSocketOptions.SO_REUSEADDR, true);
      listener.bind(bind, Math.max(128, size));
      return new Coordinator(size, terms, token, listener, service);
    } catch (IOException e) {
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
              bind.getHostString(), bind.getPort(), e.getMessage()),
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
  }

  private void run() {
    try {
      while (!closing) {
        selector.select(TICK_MILLIS);
        seatArrivals();
        Iterator<SelectionKey> keys = selector.selectedKeys().iterator();
        while (keys.hasNext()) {
          serve((Integer) keys.next().attachment());
          keys.remove();
        }
        tick();
      }
    } catch (IOException | RuntimeException e) {
      LOG.log(System.Logger.Level.ERROR, "The coordinator stops: " + e, e);
    } finally {
      door.close();
      for (Seat s : seats) {
        if (s != null) {
          s.frames.close();
        }
      }
      deserted = true;
      try {
        selector.close();
      } catch (IOException e) {
        // Nobody is left to tell.
      }
    }
  }

  // ---- joining ----

  private void seatArrivals() throws IOException {
    for (Arrival a = arrivals.poll(); a != null; a = arrivals.poll()) {
      FrameChannel frames = new FrameChannel(a.channel);
      try {
        String refusal = refusal(a.hello);
        if (refusal != null) {
          refuse(frames, refusal);
        } else {
          seat(a, frames);
        }
      } catch (IOException e) {
        frames.close();
      }
    }
  }

  private String refusal(Handshake.Hello hello) {
    if (hello.purpose() != Handshake.Purpose.CONTROL) {
      return "A data connection was made to the coordinator.";
    }
    if (hello.size() != size) {
      return String.format(
          "Rank %d says that the job has %d ranks; the job at %s has %d. Start all ranks with the"
              + " same size.",
          hello.rank(), hello.size(), address, size);
    }
    if (hello.rank() < 0 || hello.rank() >= size) {
      return String.format(
          "There is no rank %d in the job at %s, only 0 to %d.", hello.rank(), address, size - 1);
    }
    if (seats[hello.rank()] != null) {
      return String.format(
          "Rank %d has joined the job at %s already, from %s. Give every process a rank of its"
              + " own.",
          hello.rank(), address, seats[hello.rank()].address);
    }
    return null;
  }

  private static void refuse(FrameChannel frames, String why) throws IOException {
    Packet p = Packet.empty().putInt(Code.FAILED_PRECONDITION.number()).putString(why);
    frames.send(Message.REFUSED, p.toBytes());
    frames.close();
  }

  private void seat(Arrival a, FrameChannel frames) throws IOException {
    a.channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
    Seat s = new Seat();
    s.frames = frames;
    s.address = a.channel.getRemoteAddress().toString().replaceFirst("^/", "");
    s.heardNanos = System.nanoTime();
    s.key = a.channel.register(selector, SelectionKey.OP_READ, a.hello.rank());
    seats[a.hello.rank()] = s;
    seated++;
    send(a.hello.rank(), Message.WELCOME, Packet.empty());
    if (failure != null) {
      send(a.hello.rank(), Message.FAILED, pack(failure));
    }
    if (seated == size) {
      door.close();
    }
  }

  // ---- messages ----

  private void serve(int rank) {
    Seat s = seats[rank];
    try {
      s.frames.receive((type, contents) -> handle(rank, type, Packet.of(contents)));
      flush(s);
    } catch (IOException e) {
      lose(rank, e instanceof EOFException ? "closed without a goodbye" : e.getMessage());
    } catch (RuntimeException e) {
      // Whatever is wrong with one rank's message must not end the others' coordinator.
      lose(rank, "carried nonsense: " + e.getMessage());
    }
  }

  private void handle(int rank, byte type, Packet p) {
    Seat s = seats[rank];
    s.heardNanos = System.nanoTime();
    switch (type) {
      case Message.HEARTBEAT -> send(rank, Message.HEARTBEAT, Packet.empty());
      case Message.EXCHANGE -> contribute(rank, p.getString(), p.getBytes());
      case Message.FAILED -> fail(unpack(p));
      case Message.LOST -> suspect(rank, p.getInt(), p.getString());
      case Message.LEAVE -> leave(rank);
      case Message.SERVICE -> service.onMessage(rank, p);
      default ->
          throw MillraceException.internal("a control message of unknown type %d came", type);
    }
  }

  private void contribute(int rank, String key, byte[] contribution) {
    Round round = rounds.computeIfAbsent(key, k -> new Round(size));
    round.contributions[rank] = contribution;
    for (byte[] c : round.contributions) {
      if (c == null) {
        return;
      }
    }
    rounds.remove(key);
    Packet all = Packet.empty().putString(key).putInt(size);
    for (byte[] c : round.contributions) {
      all.putBytes(c);
    }
    sendAll(Message.EXCHANGE, all);
  }

  private void post(int rank, Packet contents) {
    send(rank, Message.SERVICE, contents);
  }

  private void sendAll(byte type, Packet contents) {
    for (int r = 0; r < size; r++) {
      send(r, type, contents);
    }
  }

  private void send(int rank, byte type, Packet contents) {
    Seat s = seats[rank];
    if (s == null || s.gone) {
      return;
    }
    try {
      boolean all = s.frames.send(type, contents.toBytes());
      s.key.interestOps(SelectionKey.OP_READ | (all ? 0 : SelectionKey.OP_WRITE));
    } catch (IOException e) {
      lose(rank, e.getMessage());
    }
  }

  private static void flush(Seat s) throws IOException {
    if (s.key.isValid() && (s.key.interestOps() & SelectionKey.OP_WRITE) != 0 && s.frames.flush()) {
      s.key.interestOps(SelectionKey.OP_READ);
    }
  }

  // ---- who lives ----

  private void lose(int rank, String how) {
    Seat s = seats[rank];
    if (s.gone) {
      return;
    }
    s.gone = true;
    s.key.cancel();
    s.frames.close();
    if (!s.left) {
      fail(
          new MillraceException(
              Code.UNAVAILABLE,
              String.format(
                  "Rank %d died: its control connection from %s %s. See that rank's log; start the"
                      + " job again from its last checkpoint.",
                  rank, s.address, how)));
    }
  }

  private void leave(int rank) {
    seats[rank].left = true;
    Packet p = Packet.empty().putInt(rank);
    sendAll(Message.LEFT, p);
    service.onLeft(rank);
  }

  private void suspect(int reporter, int suspect, String how) {
    if (suspicion != null || failure != null || suspect < 0 || suspect >= size) {
      return;
    }
    suspicion = new Suspicion(System.nanoTime() + SUSPICION_NANOS, reporter, suspect, how);
  }

  private MillraceException explain(Suspicion s) {
    String text =
        seats[s.suspect] != null && seats[s.suspect].left
            ? "Rank %2$d left the job while rank %1$d still exchanged data with it. All ranks must"
                + " run the same operations before they leave."
            : "Rank %d lost its data connection to rank %d (%s), although both live. Look at the"
                + " network between them.";
    return new MillraceException(
        Code.UNAVAILABLE, String.format(text, s.reporter, s.suspect, s.how));
  }

  private void fail(MillraceException cause) {
    if (failure == null) {
      failure = cause;
      suspicion = null;
      sendAll(Message.FAILED, pack(cause));
    }
  }

  static Packet pack(MillraceException e) {
    return Packet.empty().putInt(e.code().number()).putString(e.getMessage());
  }

  static MillraceException unpack(Packet p) {
    return new MillraceException(Code.of(p.getInt()), p.getString());
  }

  private void tick() {
    long now = System.nanoTime();
    // If this process itself was held up, the others' silence says nothing.
    boolean heldUp = now - lastLoopNanos > TimeUnit.SECONDS.toNanos(1);
    lastLoopNanos = now;
    if (suspicion != null && now >= suspicion.dueNanos) {
      fail(explain(suspicion));
    }
    watchJoining(now);
    for (int r = 0; r < size; r++) {
      Seat s = seats[r];
      if (s != null && !s.gone && !s.left && failure == null) {
        if (heldUp) {
          s.heardNanos = now;
        } else if (now - s.heardNanos > terms.liveness().toNanos()) {
          fail(
              new MillraceException(
                  Code.UNAVAILABLE,
                  String.format(
                      "Rank %d at %s has not been heard of for %.1f s: its process is stopped or"
                          + " overloaded, or cut off from the network.",
                      r, s.address, (now - s.heardNanos) / 1e9)));
        }
      }
    }
    service.onTick(now);
    deserted = failure == null ? count(this::isGone) == size : count(this::isTold) == size;
  }

  private boolean isGone(int rank) {
    return seats[rank] != null && (seats[rank].left || seats[rank].gone);
  }

  /** Whether a rank has been sent all there is to say to it; one that never came needs nothing. */
  private boolean isTold(int rank) {
    Seat s = seats[rank];
    return s == null || s.gone || (s.key.interestOps() & SelectionKey.OP_WRITE) == 0;
  }

  private void watchJoining(long now) {
    if (failure != null) {
      return;
    }
    long limit = terms.join().toNanos();
    if (seated < size) {
      if (now - startedNanos > limit) {
        fail(late("join the job", r -> seats[r] == null, now - startedNanos));
      } else if (now - remindedNanos > REMINDER_NANOS) {
        remindedNanos = now;
        LOG.log(
            System.Logger.Level.INFO,
            "After {0} s the job at {1} still waits for {2} to join.",
            TimeUnit.NANOSECONDS.toSeconds(now - startedNanos),
            address,
            names(r -> seats[r] == null));
      }
    }
    for (Map.Entry<String, Round> e : rounds.entrySet()) {
      Round round = e.getValue();
      if (now - round.sinceNanos > limit && failure == null) {
        fail(
            late(
                "come to '" + e.getKey() + "'",
                r -> round.contributions[r] == null,
                now - round.sinceNanos));
      }
    }
  }

  private MillraceException late(String todo, IntPredicate missing, long waited) {
    return new MillraceException(
        Code.DEADLINE_EXCEEDED,
        String.format(
            "The job at %s has waited %d s for %s to %s; %s of %d have. Check that they were"
                + " started and can reach this address; see the log of the missing ones.",
            address,
            TimeUnit.NANOSECONDS.toSeconds(waited),
            names(missing),
            todo,
            size - count(missing),
            size));
  }

  private int count(IntPredicate which) {
    int n = 0;
    for (int r = 0; r < size; r++) {
      n += which.test(r) ? 1 : 0;
    }
    return n;
  }

  private String names(IntPredicate which) {
    StringBuilder s = new StringBuilder();
    for (int r = 0; r < size; r++) {
      if (which.test(r)) {
        s.append(s.isEmpty() ? "" : ", ").append(r);
      }
    }
    return (s.indexOf(",") < 0 ? "rank " : "ranks ") + s;
  }

  // ---- ending ----

  /**
   * Waits until all ranks have left, or the job has failed and all have been told, at most this
   * long. Returns whether that is so.
   */
  public boolean awaitEnd(Duration atMost) {
    long end = System.nanoTime() + atMost.toNanos();
    while (!deserted && System.nanoTime() < end) {
      try {
        Thread.sleep(5);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return deserted;
      }
    }
    return deserted;
  }

  /** Ends at once. Ranks that have not left see the coordinator die. */
  @Override
  public void close() {
    closing = true;
    selector.wakeup();
    try {
      thread.join(terms.close());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public String toString() {
    return "coordinator of " + size + " ranks at " + address;
  }
}
