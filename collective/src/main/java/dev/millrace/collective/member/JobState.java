package dev.millrace.collective.member;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.IntPredicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What the coordinator knows of its job: who has joined, who lives, what they exchange, and what
 * went wrong first. It only decides; messages come and go through {@link RingCoordinator}, which
 * also tells it the time, so that a test can move both by hand.
 *
 * <p>A rank whose connection closes without a leave message is dead at once; one that is silent for
 * too long is dead too. A broken data stream alone says little about which end is to blame, so such
 * a report waits a moment for a better explanation.
 */
final class JobState {
  private static final Logger LOG = LoggerFactory.getLogger(JobState.class);

  /** How long a broken data stream waits for news of the rank at its other end. */
  static final long SUSPICION_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

  /** How often a wait for ranks to join is logged. */
  private static final long REMINDER_NANOS = TimeUnit.SECONDS.toNanos(10);

  /** Sends a control message to a rank. Does not wait. */
  @FunctionalInterface
  interface Wire {
    void send(int rank, byte type, Packet contents);
  }

  private record Suspicion(long dueNanos, int reporter, int suspect, String how) {}

  /** What the ranks have contributed to one exchange. */
  private record Round(long sinceNanos, byte[][] contributions) {}

  private final int size;
  private final Timeouts terms;
  private final String meetsAt;
  private final Wire wire;
  private final Service service;

  /** Where each rank has joined from; null for those that have not. */
  private final String[] addresses;

  private final long[] heardNanos;
  private final boolean[] left;

  /** Ranks whose connection is closed, whether they have left or died. */
  private final boolean[] gone;

  private final Map<String, Round> rounds = new LinkedHashMap<>();
  private final long startedNanos;
  private long remindedNanos;
  private int joined;
  private Suspicion suspicion;
  private MillraceException failure;

  JobState(
      int size, Timeouts terms, String meetsAt, Service.Factory service, Wire wire, long nowNanos) {
    this.size = size;
    this.terms = terms;
    this.meetsAt = meetsAt;
    this.wire = wire;
    this.service = service.create(size, (rank, p) -> send(rank, Message.SERVICE, p));
    this.addresses = new String[size];
    this.heardNanos = new long[size];
    this.left = new boolean[size];
    this.gone = new boolean[size];
    this.startedNanos = nowNanos;
    this.remindedNanos = nowNanos;
  }

  // ---- joining ----

  /** Why this caller cannot join, or null if it can. */
  String refusal(Handshake.Hello hello) {
    if (hello.purpose() != Handshake.Purpose.CONTROL) {
      return "A data connection was made to the coordinator.";
    }
    if (hello.size() != size) {
      return String.format(
          "Rank %d says that the job has %d ranks; the job at %s has %d. Start all ranks with the"
              + " same size.",
          hello.rank(), hello.size(), meetsAt, size);
    }
    if (hello.rank() < 0 || hello.rank() >= size) {
      return String.format(
          "There is no rank %d in the job at %s, only 0 to %d.", hello.rank(), meetsAt, size - 1);
    }
    if (addresses[hello.rank()] != null) {
      return String.format(
          "Rank %d has joined the job at %s already, from %s. Give every process a rank of its"
              + " own.",
          hello.rank(), meetsAt, addresses[hello.rank()]);
    }
    return null;
  }

  /** A rank joins. */
  void join(int rank, String address, long nowNanos) {
    addresses[rank] = address;
    heardNanos[rank] = nowNanos;
    joined++;
    send(rank, Message.WELCOME, Packet.empty());
    if (failure != null) {
      send(rank, Message.FAILED, pack(failure));
    }
  }

  /** Whether all ranks have joined. */
  boolean isComplete() {
    return joined == size;
  }

  // ---- messages ----

  /** A message from a rank. */
  void receive(int rank, byte type, Packet p, long nowNanos) {
    heardNanos[rank] = nowNanos;
    switch (type) {
      case Message.HEARTBEAT -> send(rank, Message.HEARTBEAT, Packet.empty());
      case Message.EXCHANGE -> contribute(rank, p.getString(), p.getBytes(), nowNanos);
      case Message.FAILED -> fail(unpack(p));
      case Message.LOST -> suspect(rank, p.getInt(), p.getString(), nowNanos);
      case Message.LEAVE -> leave(rank);
      case Message.SERVICE -> service.onMessage(rank, p);
      default ->
          throw MillraceException.internal("a control message of unknown type %d came", type);
    }
  }

  private void contribute(int rank, String key, byte[] contribution, long nowNanos) {
    Round round = rounds.computeIfAbsent(key, k -> new Round(nowNanos, new byte[size][]));
    round.contributions[rank] = contribution;
    Packet all = Packet.empty().putString(key).putInt(size);
    for (byte[] c : round.contributions) {
      if (c == null) {
        return;
      }
      all.putBytes(c);
    }
    rounds.remove(key);
    sendAll(Message.EXCHANGE, all);
  }

  private void leave(int rank) {
    left[rank] = true;
    sendAll(Message.LEFT, Packet.empty().putInt(rank));
    service.onLeft(rank);
  }

  private void sendAll(byte type, Packet contents) {
    for (int r = 0; r < size; r++) {
      send(r, type, contents);
    }
  }

  private void send(int rank, byte type, Packet contents) {
    if (addresses[rank] != null && !gone[rank]) {
      wire.send(rank, type, contents);
    }
  }

  // ---- what went wrong ----

  /** A rank's control connection is closed. */
  void lose(int rank, String how) {
    gone[rank] = true;
    if (!left[rank]) {
      fail(
          unavailable(
              "Rank %d died: its control connection from %s %s. See that rank's log; start the job"
                  + " again from its last checkpoint.",
              rank, addresses[rank], how));
    }
  }

  private void suspect(int reporter, int suspect, String how, long nowNanos) {
    if (suspicion == null && suspect >= 0 && suspect < size) {
      suspicion = new Suspicion(nowNanos + SUSPICION_NANOS, reporter, suspect, how);
    }
  }

  private MillraceException explain(Suspicion s) {
    if (left[s.suspect]) {
      return MillraceException.failedPrecondition(
          "Rank %d left the job while rank %d still exchanged data with it. All ranks must run the"
              + " same operations before they leave.",
          s.suspect, s.reporter);
    }
    return unavailable(
        "Rank %d lost its data connection to rank %d (%s), although both live. Look at the network"
            + " between them.",
        s.reporter, s.suspect, s.how);
  }

  private static MillraceException unavailable(String format, Object... args) {
    return new MillraceException(Code.UNAVAILABLE, String.format(format, args));
  }

  private void fail(MillraceException cause) {
    if (failure == null) {
      failure = cause;
      sendAll(Message.FAILED, pack(cause));
    }
  }

  static Packet pack(MillraceException e) {
    return Packet.empty().putInt(e.code().number()).putString(e.getMessage());
  }

  static MillraceException unpack(Packet p) {
    return new MillraceException(Code.of(p.getInt()), p.getString());
  }

  // ---- time ----

  /**
   * Time has passed. {@code heldUp} says that the coordinator itself was not running, so that
   * silence means nothing.
   */
  void tick(long nowNanos, boolean heldUp) {
    if (failure == null) {
      if (suspicion != null && nowNanos >= suspicion.dueNanos) {
        fail(explain(suspicion));
      }
      watchJoining(nowNanos);
      watchLiving(nowNanos, heldUp);
    }
    service.onTick(nowNanos);
  }

  private void watchLiving(long nowNanos, boolean heldUp) {
    for (int r = 0; r < size; r++) {
      long silent = nowNanos - heardNanos[r];
      if (addresses[r] == null || gone[r] || left[r]) {
        continue;
      }
      if (heldUp) {
        heardNanos[r] = nowNanos;
      } else if (silent > terms.liveness().toNanos()) {
        fail(
            unavailable(
                "Rank %d at %s has not been heard of for %.1f s: its process is stopped or"
                    + " overloaded, or cut off from the network.",
                r, addresses[r], silent / 1e9));
      }
    }
  }

  private void watchJoining(long nowNanos) {
    long waited = nowNanos - startedNanos;
    if (!isComplete() && waited > terms.join().toNanos()) {
      fail(late("join the job", r -> addresses[r] == null, waited));
    } else if (!isComplete() && nowNanos - remindedNanos > REMINDER_NANOS) {
      remindedNanos = nowNanos;
      LOG.info(
          "After {} s the job at {} still waits for {} to join.",
          TimeUnit.NANOSECONDS.toSeconds(waited),
          meetsAt,
          names(r -> addresses[r] == null));
    }
    rounds.forEach(
        (key, round) -> {
          long age = nowNanos - round.sinceNanos;
          if (age > terms.join().toNanos()) {
            fail(late("come to '" + key + "'", r -> round.contributions[r] == null, age));
          }
        });
  }

  private MillraceException late(String todo, IntPredicate missing, long waitedNanos) {
    return new MillraceException(
        Code.DEADLINE_EXCEEDED,
        String.format(
            "The job at %s has waited %d s for %s to %s; %d of %d have. Check that they were"
                + " started and can reach this address; see the log of the missing ones.",
            meetsAt,
            TimeUnit.NANOSECONDS.toSeconds(waitedNanos),
            names(missing),
            todo,
            size - count(missing),
            size));
  }

  /**
   * Whether all ranks have left, or the job has failed and every rank that is there has been sent
   * so; {@code behind} tells for which ranks messages are still waiting to be sent.
   */
  boolean isOver(IntPredicate behind) {
    return failure == null
        ? count(r -> left[r] || gone[r]) == size
        : count(r -> addresses[r] != null && !gone[r] && behind.test(r)) == 0;
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
}
