package dev.millrace.simulation;

import java.io.IOException;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.SocketAddress;
import java.net.SocketOption;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.NotYetBoundException;
import java.nio.channels.SelectionKey;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Set;

/** A listening socket of a simulated process. */
final class SimulatedServerChannel extends ServerSocketChannel
    implements SimulatedSockets.ProcessSocket {
  private static final int DEFAULT_BACKLOG = 50;

  private final SimulatedSockets sockets;
  private final Simulation simulation;
  private final ChannelWaiters waiters;
  private final SocketOptions options = new SocketOptions();
  private final Deque<SimulatedSocketChannel> callers = new ArrayDeque<>();
  private SocketAddress local;
  private int backlog;

  SimulatedServerChannel(SimulatedSockets sockets) {
    super(sockets);
    this.sockets = sockets;
    this.simulation = sockets.simulation();
    this.waiters = new ChannelWaiters(simulation, this);
    sockets.open().add(this);
  }

  SimulatedSockets sockets() {
    return sockets;
  }

  SimulatedKey newKey(SimulatedSelector selector) {
    return new SimulatedKey(
        this, selector, waiters, () -> callers.isEmpty() ? 0 : SelectionKey.OP_ACCEPT);
  }

  /** Takes a connection, as the kernel does before the process accepts it. */
  boolean offer(SimulatedSocketChannel caller) {
    if (!isOpen() || callers.size() >= backlog) {
      return false;
    }
    callers.add(caller);
    waiters.signal();
    return true;
  }

  @Override
  public ServerSocketChannel bind(SocketAddress address, int wantedBacklog) throws IOException {
    SocketAddress at = address;
    if (address == null || address instanceof InetSocketAddress) {
      InetSocketAddress ip = (InetSocketAddress) address;
      boolean any = ip == null || ip.getAddress().isAnyLocalAddress();
      if (!any && !ip.getAddress().getHostAddress().equals(sockets.address())) {
        throw new BindException("Cannot assign requested address");
      }
      int port = ip == null || ip.getPort() == 0 ? simulation.network().newPort() : ip.getPort();
      at = new InetSocketAddress(sockets.address(), port);
    }
    if (!simulation.network().listen(at, this)) {
      throw new BindException("Address already in use");
    }
    local = at;
    backlog = wantedBacklog > 0 ? wantedBacklog : DEFAULT_BACKLOG;
    return this;
  }

  @Override
  public SocketChannel accept() throws IOException {
    if (!isOpen()) {
      throw new ClosedChannelException();
    }
    if (local == null) {
      throw new NotYetBoundException();
    }
    if (callers.isEmpty() && isBlocking()) {
      waiters.await(() -> !callers.isEmpty(), Long.MAX_VALUE);
    }
    return callers.poll();
  }

  @Override
  public SocketAddress getLocalAddress() throws IOException {
    if (!isOpen()) {
      throw new ClosedChannelException();
    }
    return local;
  }

  @Override
  public <T> ServerSocketChannel setOption(SocketOption<T> name, T value) {
    options.set(name, value);
    return this;
  }

  @Override
  public <T> T getOption(SocketOption<T> name) {
    return options.get(name);
  }

  @Override
  public Set<SocketOption<?>> supportedOptions() {
    return SocketOptions.ALL;
  }

  @Override
  public ServerSocket socket() {
    throw new UnsupportedOperationException("A simulated listener has no java.net.ServerSocket.");
  }

  @Override
  public void abandon() {
    if (local != null) {
      simulation.network().unlisten(local, this);
    }
    while (!callers.isEmpty()) {
      SimulatedSocketChannel caller = callers.poll();
      sockets.open().remove(caller);
      caller.abandon();
    }
  }

  @Override
  protected void implCloseSelectableChannel() {
    sockets.open().remove(this);
    abandon();
    waiters.signal();
  }

  @Override
  protected void implConfigureBlocking(boolean block) {}
}
