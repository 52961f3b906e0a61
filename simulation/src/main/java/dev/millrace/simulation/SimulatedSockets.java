package dev.millrace.simulation;

import java.net.ProtocolFamily;
import java.nio.channels.DatagramChannel;
import java.nio.channels.Pipe;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.AbstractSelector;
import java.nio.channels.spi.SelectorProvider;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * The sockets of one simulated process.
 *
 * <p>Threading: the threads of its simulation.
 */
final class SimulatedSockets extends SelectorProvider {
  private final Simulation simulation;
  private final SimulatedProcess process;
  private final Set<ProcessSocket> open = new LinkedHashSet<>();
  private int selectors;

  SimulatedSockets(Simulation simulation, SimulatedProcess process) {
    this.simulation = simulation;
    this.process = process;
  }

  /** A socket that ends with its process. */
  interface ProcessSocket {
    /** What the kernel does when the process dies. */
    void abandon();
  }

  Simulation simulation() {
    return simulation;
  }

  /** The address of the host. */
  String address() {
    return process.address();
  }

  boolean isAlive() {
    return process.isAlive();
  }

  Set<ProcessSocket> open() {
    return open;
  }

  int openSelectors() {
    return selectors;
  }

  void closeAll() {
    List<ProcessSocket> all = new ArrayList<>(open);
    open.clear();
    all.forEach(ProcessSocket::abandon);
  }

  @Override
  public SocketChannel openSocketChannel() {
    return new SimulatedSocketChannel(this);
  }

  /** TCP and Unix domain sockets differ in their addresses only. */
  @Override
  public SocketChannel openSocketChannel(ProtocolFamily family) {
    return openSocketChannel();
  }

  @Override
  public ServerSocketChannel openServerSocketChannel() {
    return new SimulatedServerChannel(this);
  }

  @Override
  public ServerSocketChannel openServerSocketChannel(ProtocolFamily family) {
    return openServerSocketChannel();
  }

  @Override
  public AbstractSelector openSelector() {
    selectors++;
    return new SimulatedSelector(this, simulation, () -> selectors--);
  }

  @Override
  public DatagramChannel openDatagramChannel() {
    throw new UnsupportedOperationException("A simulated network has no datagrams.");
  }

  @Override
  public DatagramChannel openDatagramChannel(ProtocolFamily family) {
    return openDatagramChannel();
  }

  @Override
  public Pipe openPipe() {
    throw new UnsupportedOperationException("A simulated process has no pipes.");
  }
}
