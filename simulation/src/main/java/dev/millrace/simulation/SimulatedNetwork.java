package dev.millrace.simulation;

import java.net.SocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The network between simulated hosts. Bytes of one direction of a connection arrive in order, each
 * batch after a delay that the seed chooses. A cut holds back what is on its way until it heals, as
 * a TCP that retransmits does.
 *
 * <p>Threading: the threads of its simulation.
 */
public final class SimulatedNetwork {
  /** Addresses of a range that is reserved for documentation: no host has them. */
  private static final String PREFIX = "192.0.2.";

  private static final long MIN_DELAY_NANOS = 20_000;
  private static final int FIRST_PORT = 30_000;

  /** One message in this many takes up to {@link #SLOW} times as long. */
  private static final int RARELY = 50;

  private static final int SLOW = 20;

  /** A direction between two hosts. */
  private record Direction(String from, String to) {}

  private final Simulation simulation;
  private final Map<SocketAddress, SimulatedServerChannel> listeners = new HashMap<>();
  private final Set<Direction> cuts = new HashSet<>();
  private final Set<String> disconnected = new HashSet<>();
  private final List<ByteFlow> flows = new ArrayList<>();
  private final long typicalDelayNanos;
  private int hosts;
  private int ports = FIRST_PORT;

  SimulatedNetwork(Simulation simulation) {
    this.simulation = simulation;
    this.typicalDelayNanos = 50_000L << simulation.random().nextInt(6);
  }

  String newAddress() {
    return PREFIX + ++hosts;
  }

  int newPort() {
    return ports++;
  }

  // ---- faults ----

  /** Cuts the way from one address to another; the way back stays. */
  public void cutOneWay(String from, String to) {
    cuts.add(new Direction(from, to));
  }

  /** Cuts both ways between two addresses. */
  public void cut(String one, String other) {
    cutOneWay(one, other);
    cutOneWay(other, one);
  }

  /** Heals all cuts; what they held back travels on. Hosts that crashed stay away. */
  public void heal() {
    cuts.clear();
    List.copyOf(flows).forEach(ByteFlow::retransmit);
  }

  /** Breaks all connections between two addresses, as a firewall that sends resets does. */
  public void reset(String one, String other) {
    for (ByteFlow f : List.copyOf(flows)) {
      if (f.connects(one, other)) {
        f.breakOff();
      }
    }
  }

  /** Cuts off a host for good. */
  void disconnect(String address) {
    disconnected.add(address);
  }

  boolean isCut(String from, String to) {
    return disconnected.contains(from)
        || disconnected.contains(to)
        || cuts.contains(new Direction(from, to));
  }

  // ---- transport ----

  /** How long the next message travels. */
  long delay() {
    long spread = typicalDelayNanos;
    if (simulation.random().nextInt(RARELY) == 0) {
      spread *= SLOW;
    }
    return MIN_DELAY_NANOS + simulation.random().nextLong(spread);
  }

  void add(ByteFlow flow) {
    flows.add(flow);
  }

  void remove(ByteFlow flow) {
    flows.remove(flow);
  }

  // ---- listeners ----

  boolean listen(SocketAddress address, SimulatedServerChannel listener) {
    return listeners.putIfAbsent(address, listener) == null;
  }

  void unlisten(SocketAddress address, SimulatedServerChannel listener) {
    listeners.remove(address, listener);
  }

  /** Who listens there; null for none. */
  SimulatedServerChannel listener(SocketAddress address) {
    return listeners.get(address);
  }
}
