package dev.millrace.net;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Platform;
import dev.millrace.base.Timers;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardProtocolFamily;
import java.net.StandardSocketOptions;
import java.net.UnixDomainSocketAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/**
 * Opens connections to other processes. With a credential, all but those within the host are
 * encrypted, and the other end must belong to the same job. Each has a deadline until it is
 * settled: a stopped process does not answer, and its backlog may be full.
 *
 * <p>Threading: any thread.
 */
public final class Dialer implements AutoCloseable {
  private final Platform platform;
  private final @Nullable Credential credential;
  private final @Nullable Path localSockets;
  private final Duration connectLimit;
  private final Duration settleLimit;
  private final Set<SocketChannel> unsettled = ConcurrentHashMap.newKeySet();
  private volatile boolean closed;

  /**
   * A dialer.
   *
   * @param credential of this process; null to connect without encryption
   * @param localSockets the folder in which processes of this user publish their sockets; null for
   *     none
   * @param connectLimit how long the other end may take to accept
   * @param settleLimit how long after that the connection may take until {@link Connection#settle}
   */
  public Dialer(
      Platform platform,
      @Nullable Credential credential,
      @Nullable Path localSockets,
      Duration connectLimit,
      Duration settleLimit) {
    this.platform = platform;
    this.credential = credential;
    this.localSockets = localSockets;
    this.connectLimit = connectLimit;
    this.settleLimit = settleLimit;
  }

  /** Whether connections beyond the host are encrypted. */
  public boolean encrypts() {
    return credential != null;
  }

  /** Whether a process of this user on this host listens on {@code address}, a host and a port. */
  public boolean isLocal(String address) {
    try {
      return local(resolved(address)) != null;
    } catch (IOException e) {
      return false;
    }
  }

  private @Nullable Path local(InetSocketAddress to) {
    return localSockets == null
        ? null
        : LocalSockets.find(localSockets, to.getAddress(), to.getPort());
  }

  private static InetSocketAddress resolved(String address) throws IOException {
    int colon = address.lastIndexOf(':');
    InetSocketAddress a =
        new InetSocketAddress(
            address.substring(0, colon), Integer.parseInt(address.substring(colon + 1)));
    if (a.isUnresolved()) {
      throw new UnknownHostException("the host name " + a.getHostString() + " does not resolve");
    }
    return a;
  }

  /** Connects to {@code host:port}: by the Unix socket of a process of this user, else by TCP. */
  public Connection connect(String address) throws IOException {
    return connect(address, settleLimit);
  }

  /** The same with another limit until the connection must be settled. */
  public Connection connect(String address, Duration limit) throws IOException {
    InetSocketAddress to = resolved(address);
    Path socket = local(to);
    if (socket != null) {
      try {
        return connect(socket, limit);
      } catch (IOException e) {
        // A killed process left it.
      }
    }
    return connect(to, limit);
  }

  /** Connects by TCP. */
  public Connection connect(InetSocketAddress to) throws IOException {
    return connect(to, settleLimit.plus(connectLimit));
  }

  private Connection connect(InetSocketAddress to, Duration limit) throws IOException {
    SocketChannel c = platform.sockets().openSocketChannel();
    Timers.Timer deadline = limit(c, limit);
    try {
      c.setOption(StandardSocketOptions.TCP_NODELAY, true);
      c.socket().connect(to, (int) Math.min(connectLimit.toMillis(), limit.toMillis()));
      Credential own = credential;
      if (own == null) {
        return new Connection(c, null, PeerIdentity.unknown(), null, () -> settled(c, deadline));
      }
      TlsChannel tls = new TlsChannel(c, own.engine(true));
      SSLEngine engine = tls.engine();
      try {
        tls.handshake(ByteBuffer.allocate(0));
      } catch (SSLException | EOFException e) {
        throw refused(to.toString(), e);
      }
      PeerIdentity peer = Credential.peer(engine);
      return new Connection(c, tls, peer, null, () -> settled(c, deadline));
    } catch (IOException | RuntimeException e) {
      settled(c, deadline);
      c.close();
      throw e;
    }
  }

  /**
   * The error for a connection that is not encrypted because an end does not trust the other. A
   * client learns this with its first read.
   */
  public MillraceException refused(String address, IOException e) {
    Credential own = credential;
    return new MillraceException(
        Code.UNAUTHENTICATED,
        "This process, "
            + own
            + ", and the one at "
            + address
            + " do not trust each other: "
            + e.getMessage()
            + ". Give both a credential of the same job that has not expired; 'millrace credentials"
            + " show FOLDER' tells what they have.",
        e);
  }

  /** Connects to the Unix socket of a process of this user. */
  public Connection connect(Path socket) throws IOException {
    return connect(socket, settleLimit);
  }

  private Connection connect(Path socket, Duration limit) throws IOException {
    SocketChannel c = platform.sockets().openSocketChannel(StandardProtocolFamily.UNIX);
    Timers.Timer deadline = limit(c, limit);
    Timers.Timer accepted = platform.timers().later(connectLimit.toNanos(), () -> quietly(c));
    try {
      c.connect(UnixDomainSocketAddress.of(socket));
      return new Connection(c, null, PeerIdentity.sameUser(), null, () -> settled(c, deadline));
    } catch (IOException | RuntimeException e) {
      settled(c, deadline);
      c.close();
      throw e;
    } finally {
      accepted.cancel();
    }
  }

  private Timers.Timer limit(SocketChannel c, Duration time) throws IOException {
    unsettled.add(c);
    if (closed) {
      unsettled.remove(c);
      c.close();
      throw new IOException("this process is shutting down");
    }
    return platform.timers().later(time.toNanos(), () -> quietly(c));
  }

  private void settled(SocketChannel c, Timers.Timer deadline) {
    deadline.cancel();
    unsettled.remove(c);
  }

  private static void quietly(SocketChannel c) {
    try {
      c.close();
    } catch (IOException e) {
      // It is gone either way.
    }
  }

  /** Ends the connections that are not settled. */
  @Override
  public void close() {
    closed = true;
    unsettled.forEach(Dialer::quietly);
  }
}
