package dev.millrace.simulation;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.SocketOption;
import java.nio.ByteBuffer;
import java.nio.channels.AlreadyConnectedException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.NoConnectionPendingException;
import java.nio.channels.NotYetConnectedException;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.nio.channels.UnresolvedAddressException;
import java.util.Set;

/** One end of a simulated connection. */
final class SimulatedSocketChannel extends SocketChannel implements SimulatedSockets.ProcessSocket {
  /** How long TCP waits before it sends its first message again. */
  private static final long SYN_RETRY_NANOS = 1_000_000_000L;

  private final SimulatedSockets sockets;
  private final Simulation simulation;
  private final ChannelWaiters waiters;
  private final SocketOptions options = new SocketOptions();
  private SocketAddress local;
  private SocketAddress remote;
  private boolean pending;
  private IOException refusal;

  /** Null until connected. */
  private ByteFlow in;

  private ByteFlow out;

  SimulatedSocketChannel(SimulatedSockets sockets) {
    super(sockets);
    this.sockets = sockets;
    this.simulation = sockets.simulation();
    this.waiters = new ChannelWaiters(simulation, this);
    sockets.open().add(this);
  }

  SimulatedKey newKey(SimulatedSelector selector) {
    return new SimulatedKey(this, selector, waiters, this::readyOps);
  }

  private int readyOps() {
    int ready = pending && (in != null || refusal != null) ? SelectionKey.OP_CONNECT : 0;
    if (in != null) {
      ready |= in.isReadable() ? SelectionKey.OP_READ : 0;
      ready |= out.room() > 0 || out.isReset() ? SelectionKey.OP_WRITE : 0;
    }
    return ready;
  }

  void signal() {
    waiters.signal();
  }

  // ---- connecting ----

  @Override
  public boolean connect(SocketAddress address) throws IOException {
    startConnect(address);
    if (!isBlocking()) {
      return false;
    }
    return finishConnectWithin(Long.MAX_VALUE);
  }

  void connectWithin(SocketAddress address, long nanos) throws IOException {
    startConnect(address);
    finishConnectWithin(nanos);
  }

  private boolean finishConnectWithin(long nanos) throws IOException {
    waiters.await(() -> in != null || refusal != null, nanos);
    return finishConnect();
  }

  private void startConnect(SocketAddress address) throws IOException {
    requireOpen();
    if (in != null || pending) {
      throw new AlreadyConnectedException();
    }
    if (address instanceof InetSocketAddress ip && ip.isUnresolved()) {
      throw new UnresolvedAddressException();
    }
    remote = address;
    pending = true;
    local =
        address instanceof InetSocketAddress
            ? new InetSocketAddress(sockets.address(), simulation.network().newPort())
            : address;
    call();
  }

  private String remoteHost() {
    return remote instanceof InetSocketAddress ip
        ? ip.getAddress().getHostAddress()
        : sockets.address();
  }

  /** Sends the first message of a connection until it arrives. */
  private void call() {
    simulation.after(
        simulation.network().delay(),
        () -> {
          if (!isOpen() || !sockets.isAlive()) {
            return;
          }
          if (simulation.network().isCut(sockets.address(), remoteHost())) {
            simulation.after(SYN_RETRY_NANOS, this::call);
            return;
          }
          SimulatedServerChannel listener = simulation.network().listener(remote);
          SimulatedSocketChannel peer = listener == null ? null : peer(listener);
          answer(peer);
        });
  }

  /** The other end, if the listener takes it; null if not. */
  private SimulatedSocketChannel peer(SimulatedServerChannel listener) {
    SimulatedSocketChannel peer = new SimulatedSocketChannel(listener.sockets());
    peer.local = remote;
    peer.remote = local;
    ByteFlow there = new ByteFlow(simulation, sockets.address(), remoteHost());
    ByteFlow back = new ByteFlow(simulation, remoteHost(), sockets.address());
    there.connect(this, peer);
    back.connect(peer, this);
    peer.in = there;
    peer.out = back;
    if (!listener.offer(peer)) {
      peer.forget();
      return null;
    }
    return peer;
  }

  /** The listener's answer travels until it arrives. */
  private void answer(SimulatedSocketChannel peer) {
    simulation.after(
        simulation.network().delay(),
        () -> {
          if (simulation.network().isCut(remoteHost(), sockets.address())) {
            simulation.after(SYN_RETRY_NANOS, () -> answer(peer));
          } else if (peer == null) {
            refusal = new ConnectException("Connection refused");
            signal();
          } else if (!isOpen() || !sockets.isAlive()) {
            peer.in.breakOff();
            peer.out.breakOff();
          } else {
            in = peer.out;
            out = peer.in;
            signal();
          }
        });
  }

  private void forget() {
    sockets.open().remove(this);
    simulation.network().remove(in);
    simulation.network().remove(out);
  }

  @Override
  public boolean finishConnect() throws IOException {
    requireOpen();
    if (in != null && !pending) {
      return true;
    }
    if (!pending) {
      throw new NoConnectionPendingException();
    }
    if (refusal != null) {
      IOException why = refusal;
      close();
      throw why;
    }
    pending = in == null;
    return in != null;
  }

  @Override
  public boolean isConnected() {
    return in != null && !pending;
  }

  @Override
  public boolean isConnectionPending() {
    return pending;
  }

  // ---- bytes ----

  @Override
  public int read(ByteBuffer into) throws IOException {
    requireConnected();
    if (!into.hasRemaining()) {
      return 0;
    }
    if (isBlocking() && !in.isReadable()) {
      waiters.await(in::isReadable, Long.MAX_VALUE);
    }
    if (in.isReset()) {
      throw new IOException("Connection reset by peer");
    }
    int n = in.receive(into);
    return n == 0 && in.isFinished() ? -1 : n;
  }

  @Override
  public long read(ByteBuffer[] into, int offset, int length) throws IOException {
    long total = 0;
    for (int i = offset; i < offset + length; i++) {
      while (into[i].hasRemaining()) {
        int n = total > 0 && !in.hasUnread() ? 0 : read(into[i]);
        if (n <= 0) {
          return total > 0 ? total : n;
        }
        total += n;
      }
    }
    return total;
  }

  @Override
  public int write(ByteBuffer bytes) throws IOException {
    requireConnected();
    int total = 0;
    do {
      if (isBlocking() && out.room() <= 0 && !out.isReset() && bytes.hasRemaining()) {
        waiters.await(() -> out.room() > 0 || out.isReset(), Long.MAX_VALUE);
      }
      if (out.isReset()) {
        throw new IOException("Broken pipe");
      }
      total += out.send(bytes);
    } while (isBlocking() && bytes.hasRemaining());
    return total;
  }

  @Override
  public long write(ByteBuffer[] bytes, int offset, int length) throws IOException {
    long total = 0;
    for (int i = offset; i < offset + length; i++) {
      total += write(bytes[i]);
      if (bytes[i].hasRemaining()) {
        break;
      }
    }
    return total;
  }

  private void requireOpen() throws ClosedChannelException {
    if (!isOpen()) {
      throw new ClosedChannelException();
    }
  }

  private void requireConnected() throws ClosedChannelException {
    requireOpen();
    if (!isConnected()) {
      throw new NotYetConnectedException();
    }
  }

  // ---- the end ----

  /** Whether there is a process that can read from it. */
  boolean receives() {
    return isOpen() && sockets.isAlive();
  }

  /** Bytes came for an end that is closed: tells the sender. */
  void refuse() {
    out.sendReset();
  }

  @Override
  public void abandon() {
    if (in == null) {
      return;
    }
    if (in.hasUnread()) {
      out.sendReset();
    } else {
      out.finish();
    }
  }

  @Override
  protected void implCloseSelectableChannel() {
    if (sockets.open().remove(this)) {
      abandon();
    }
    waiters.signal();
  }

  @Override
  protected void implConfigureBlocking(boolean block) {}

  @Override
  public SocketChannel shutdownInput() {
    return this;
  }

  @Override
  public SocketChannel shutdownOutput() throws IOException {
    requireConnected();
    out.finish();
    return this;
  }

  // ---- what else a channel has ----

  @Override
  public SocketChannel bind(SocketAddress address) {
    throw new UnsupportedOperationException("A simulated socket chooses its own port.");
  }

  @Override
  public SocketAddress getLocalAddress() throws IOException {
    requireOpen();
    return local;
  }

  @Override
  public SocketAddress getRemoteAddress() throws IOException {
    requireOpen();
    return isConnected() ? remote : null;
  }

  @Override
  public Socket socket() {
    try {
      return new ConnectingSocket(this);
    } catch (SocketException e) {
      throw new IllegalStateException(e);
    }
  }

  @Override
  public <T> SocketChannel setOption(SocketOption<T> name, T value) {
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
}
