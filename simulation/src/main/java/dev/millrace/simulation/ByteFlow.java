package dev.millrace.simulation;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Deque;

/** One direction of a connection: bytes on their way, and bytes that have arrived. */
final class ByteFlow {
  private static final int LARGE_WINDOW = 256 << 10;

  private final Simulation simulation;
  private final String from;
  private final String to;
  private final int window;

  /** Bytes that have arrived and have not been read. */
  private final Deque<ByteBuffer> arrived = new ArrayDeque<>();

  /** Arrivals that a cut holds back, in order. */
  private final Deque<Runnable> held = new ArrayDeque<>();

  private SimulatedSocketChannel source;
  private SimulatedSocketChannel target;
  private long lastArrivalNanos;
  private int travelling;
  private int unread;
  private boolean finished;
  private boolean reset;

  ByteFlow(Simulation simulation, String from, String to) {
    this.simulation = simulation;
    this.from = from;
    this.to = to;
    // Small windows make senders wait in the middle of a message.
    this.window = LARGE_WINDOW >> simulation.random().nextInt(8);
    simulation.network().add(this);
  }

  void connect(SimulatedSocketChannel sender, SimulatedSocketChannel receiver) {
    source = sender;
    target = receiver;
  }

  boolean connects(String one, String other) {
    return from.equals(one) && to.equals(other) || from.equals(other) && to.equals(one);
  }

  // ---- the sending end ----

  int room() {
    return window - travelling - unread;
  }

  /** Takes as many bytes as there is room for; sometimes fewer. */
  int send(ByteBuffer bytes) {
    int n = Math.min(bytes.remaining(), room());
    if (n <= 0) {
      return 0;
    }
    if (simulation.random().nextInt(4) == 0) {
      n = 1 + simulation.random().nextInt(n);
    }
    byte[] copy = new byte[n];
    bytes.get(copy);
    travelling += n;
    transmit(() -> arrive(copy));
    return n;
  }

  /** Says that no more bytes come. */
  void finish() {
    transmit(
        () -> {
          finished = true;
          target.signal();
          simulation.network().remove(this);
        });
  }

  /** Says that the connection is broken. */
  void sendReset() {
    transmit(this::breakOff);
  }

  // ---- on the way ----

  private void transmit(Runnable arrival) {
    long at = simulation.now() + simulation.network().delay();
    lastArrivalNanos = Math.max(lastArrivalNanos + 1, at);
    simulation.after(lastArrivalNanos - simulation.now(), () -> pass(arrival));
  }

  private void pass(Runnable arrival) {
    if (!held.isEmpty() || simulation.network().isCut(from, to)) {
      held.add(arrival);
    } else {
      arrival.run();
    }
  }

  void retransmit() {
    Deque<Runnable> again = new ArrayDeque<>(held);
    held.clear();
    again.forEach(this::transmit);
  }

  private void arrive(byte[] bytes) {
    travelling -= bytes.length;
    simulation.history().add(simulation.now(), bytes.length);
    simulation.history().add(bytes);
    if (reset) {
      return;
    }
    if (!target.receives()) {
      target.refuse();
      return;
    }
    arrived.add(ByteBuffer.wrap(bytes));
    unread += bytes.length;
    target.signal();
  }

  void breakOff() {
    reset = true;
    arrived.clear();
    unread = 0;
    simulation.network().remove(this);
    target.signal();
    source.signal();
  }

  // ---- the receiving end ----

  boolean isReset() {
    return reset;
  }

  boolean isReadable() {
    return unread > 0 || finished || reset;
  }

  boolean hasUnread() {
    return unread > 0;
  }

  boolean isFinished() {
    return finished;
  }

  int receive(ByteBuffer into) {
    int n = 0;
    while (into.hasRemaining() && !arrived.isEmpty()) {
      ByteBuffer first = arrived.peek();
      int some = Math.min(into.remaining(), first.remaining());
      into.put(first.slice(first.position(), some));
      first.position(first.position() + some);
      n += some;
      if (!first.hasRemaining()) {
        arrived.poll();
      }
    }
    unread -= n;
    if (n > 0) {
      source.signal();
    }
    return n;
  }
}
