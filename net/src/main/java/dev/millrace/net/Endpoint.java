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
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import jdk.net.ExtendedSocketOptions;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Where a process accepts connections: one TCP port, and a Unix socket within the host. The first
 * byte of a connection decides which protocol serves it. A TLS connection is decrypted first, so
 * that its first byte is the first one inside.
 *
 * <p>A closed endpoint serves those that have proved who they are: by a certificate of the job, or
 * by being processes of the same user on its Unix socket. All others are refused in the words of
 * the protocol they speak.
 *
 * <p>Threading: any thread.
 */
public final class Endpoint implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Endpoint.class);

  /** One line for each peer that is refused; for those who look after the cluster. */
  private static final Logger AUDIT = LoggerFactory.getLogger("millrace.audit");

  /** The first byte of a TLS record with a handshake message. */
  private static final byte TLS = 0x16;

  private static final long SHORTEST_PAUSE_NANOS = 100_000_000L;
  private static final long LONGEST_PAUSE_NANOS = 3_200_000_000L;

  /** How long closing waits for a thread that accepts. */
  private static final Duration CLOSE_LIMIT = Duration.ofSeconds(1);

  /** Limit on connections that are not settled; the oldest is closed beyond it. */
  private static final int MAX_UNSETTLED = 256;

  /** Serves connections, each on a virtual thread of its own, which may block. */
  public interface Protocol {
    /** Serves a connection, from its first byte on. Closes it, or keeps it and settles it. */
    void serve(Connection c) throws IOException;

    /** Tells a peer that it is refused and why; the endpoint then closes the connection. */
    void refuse(Connection c, String why) throws IOException;
  }

  /**
   * Where and for whom.
   *
   * @param name of the process, for messages
   * @param tcp null for no port; port 0 for any that is free
   * @param unix the path of the Unix socket; null for none
   * @param localSockets the folder to publish the Unix socket in; null not to
   * @param admission who this process is, and whom it admits
   * @param settleLimit how long a connection may take until {@link Connection#settle}
   */
  public record Config(
      String name,
      @Nullable InetSocketAddress tcp,
      @Nullable Path unix,
      @Nullable Path localSockets,
      Admission admission,
      Duration settleLimit) {}

  private final Config config;
  private final Platform platform;
  private final @Nullable ServerSocketChannel tcp;
  private final @Nullable ServerSocketChannel unix;
  private final int port;
  private final Map<Byte, Protocol> protocols = new ConcurrentHashMap<>();
  private volatile @Nullable Protocol otherwise;

  /** Connections that are not settled, and since when. */
  private final Map<SocketChannel, Long> unsettled = new ConcurrentHashMap<>();

  /** Those that run {@link #accept}. */
  private final List<Thread> acceptors = new CopyOnWriteArrayList<>();

  private volatile boolean stopped;

  /** Listens; accepts nothing before {@link #start}. */
  public Endpoint(Config config, Platform platform) {
    this.config = config;
    this.platform = platform;
    this.tcp = config.tcp == null ? null : listen(config.tcp);
    this.port = tcp == null ? 0 : port(tcp);
    this.unix = config.unix == null ? null : listen(config.unix);
    if (unix != null && tcp != null && config.localSockets != null && config.unix != null) {
      LocalSockets.publish(config.localSockets, port, config.unix);
    }
  }

  private ServerSocketChannel listen(InetSocketAddress address) {
    ServerSocketChannel c = null;
    try {
      c = platform.sockets().openServerSocketChannel();
      c.bind(address, 1024);
      return c;
    } catch (IOException e) {
      quietly(c);
      String why = String.valueOf(e.getMessage());
      boolean inUse = why.contains("in use");
      throw new MillraceException(
          inUse ? Code.ALREADY_EXISTS : Code.UNAVAILABLE,
          config.name
              + " cannot listen on "
              + address.getHostString()
              + ":"
              + address.getPort()
              + ": "
              + (inUse
                  ? "the port is already in use. Stop the other process or change the address in"
                      + " the cluster spec."
                  : why),
          e);
    }
  }

  private @Nullable ServerSocketChannel listen(Path path) {
    ServerSocketChannel c = null;
    try {
      c = platform.sockets().openServerSocketChannel(StandardProtocolFamily.UNIX);
      c.bind(UnixDomainSocketAddress.of(path), 1024);
      return c;
    } catch (IOException | UnsupportedOperationException e) {
      quietly(c);
      LOG.debug("No socket within the host: {}", e.toString());
      return null;
    }
  }

  private static int port(ServerSocketChannel c) {
    try {
      return ((InetSocketAddress) c.getLocalAddress()).getPort();
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Has connections that begin with a byte served by {@code protocol}. */
  public void serve(byte first, Protocol protocol) {
    protocols.put(first, protocol);
  }

  /** Has all other connections that are not encrypted served by {@code protocol}. */
  public void serveOthers(Protocol protocol) {
    otherwise = protocol;
  }

  /** Accepts connections from now on. */
  public void start() {
    for (ServerSocketChannel c : new ServerSocketChannel[] {tcp, unix}) {
      if (c != null) {
        Thread t = platform.newThread(config.name + "-accept", () -> accept(c));
        acceptors.add(t);
        t.start();
      }
    }
  }

  /** The TCP port; 0 if there is none. */
  public int port() {
    return port;
  }

  /** Whether there is a Unix socket. */
  public boolean hasUnixSocket() {
    return unix != null;
  }

  /** Whether peers that have not proved who they are get refused. */
  public boolean isClosed() {
    return config.admission.closed();
  }

  /** Accepts connections. Survives every failure: otherwise no peer could connect any more. */
  private void accept(ServerSocketChannel listener) {
    long pause = SHORTEST_PAUSE_NANOS;
    while (!stopped) {
      SocketChannel c = null;
      try {
        c = listener.accept();
        admit(c, listener == unix);
        pause = SHORTEST_PAUSE_NANOS;
      } catch (Throwable t) {
        forget(c);
        quietly(c);
        if (!listener.isOpen()) {
          if (!stopped) {
            LOG.warn("{} accepts nothing more, its port is closed: {}", config.name, t.toString());
          }
          return;
        }
        // Out of file descriptors or threads, most likely: an immediate retry would fail too.
        logFailure(t);
        platform.timers().park(this, pause);
        pause = Math.min(2 * pause, LONGEST_PAUSE_NANOS);
      }
    }
  }

  private static void logFailure(Throwable t) {
    try {
      LOG.warn("Cannot accept a connection, will retry: {}", t.toString());
    } catch (Throwable again) {
      // Logging fails as well, most likely for lack of memory.
    }
  }

  private void admit(SocketChannel c, boolean local) throws IOException {
    Timers timers = platform.timers();
    if (unsettled.size() >= MAX_UNSETTLED) {
      long now = timers.now();
      unsettled.entrySet().stream()
          .max((a, b) -> Long.compare(now - a.getValue(), now - b.getValue()))
          .ifPresent(
              oldest -> {
                unsettled.remove(oldest.getKey());
                quietly(oldest.getKey());
              });
    }
    unsettled.put(c, timers.now());
    if (!local) {
      c.setOption(StandardSocketOptions.TCP_NODELAY, true);
    }
    Timers.Timer deadline =
        timers.later(
            config.settleLimit.toNanos(),
            () -> {
              if (forget(c)) {
                quietly(c);
              }
            });
    platform
        .newVirtualThread(config.name + "-handshake", () -> welcome(c, local, deadline))
        .start();
  }

  private boolean forget(@Nullable SocketChannel c) {
    return c != null && unsettled.remove(c) != null;
  }

  private void welcome(SocketChannel c, boolean local, Timers.Timer deadline) {
    Runnable settled =
        () -> {
          deadline.cancel();
          forget(c);
        };
    try {
      if (serve(c, local, settled)) {
        return;
      }
    } catch (Throwable t) {
      LOG.debug("Closed a connection to {}: {}", config.name, t.toString());
    }
    settled.run();
    quietly(c);
  }

  /** Returns whether a protocol has taken the connection over. */
  private boolean serve(SocketChannel c, boolean local, Runnable settled) throws IOException {
    ByteBuffer first = ByteBuffer.allocate(1);
    while (first.hasRemaining()) {
      if (c.read(first) < 0) {
        throw new EOFException("closed before it sent anything");
      }
    }
    first.flip();
    Connection connection;
    Credential own = config.admission.credential();
    if (first.get(0) == TLS && own != null) {
      TlsChannel tls = new TlsChannel(c, own.engine(false));
      try {
        tls.handshake(first);
      } catch (IOException e) {
        AUDIT.warn(
            "{} refused {}: no valid credential of job {} ({})",
            config.name,
            c.getRemoteAddress(),
            own.job(),
            e.getMessage());
        throw e;
      }
      ByteBuffer inside = ByteBuffer.allocate(1);
      if (tls.read(inside) < 0) {
        throw new EOFException("closed after the handshake");
      }
      first = inside.flip();
      connection = new Connection(c, tls, Credential.peer(tls.engine()), first, settled);
    } else {
      PeerIdentity who = local && isSameUser(c) ? PeerIdentity.sameUser() : PeerIdentity.unknown();
      connection = new Connection(c, null, who, first, settled);
    }
    Protocol named = protocols.get(first.get(0));
    Protocol p = named != null ? named : connection.isEncrypted() ? null : otherwise;
    if (p == null) {
      throw new IOException("a protocol that nothing here speaks");
    }
    if (config.admission.closed() && !connection.peer().isAuthenticated()) {
      AUDIT.warn("{} refused {}: no credential", config.name, connection.remote());
      p.refuse(connection, refusal());
      return false;
    }
    p.serve(connection);
    return true;
  }

  private String refusal() {
    Credential own = config.admission.credential();
    return config.name
        + (own == null
            ? " admits processes of its own user on its own host only."
            : " admits processes with a credential of the job "
                + own.job()
                + " only: give this one with --credentials FOLDER or MILLRACE_CREDENTIALS.");
  }

  private static boolean isSameUser(SocketChannel c) throws IOException {
    try {
      return c.getOption(ExtendedSocketOptions.SO_PEERCRED)
          .user()
          .getName()
          .equals(dev.millrace.base.ThisUser.name());
    } catch (UnsupportedOperationException e) {
      // Only this user can open the folder that the socket is in.
      return true;
    }
  }

  private static void quietly(java.io.@Nullable Closeable c) {
    try {
      if (c != null) {
        c.close();
      }
    } catch (IOException e) {
      LOG.debug("Closing failed: {}", e.getMessage());
    }
  }

  /** Stops listening, and ends the connections that are not settled. */
  @Override
  public void close() {
    stopped = true;
    if (unix != null && tcp != null && config.localSockets != null && config.unix != null) {
      LocalSockets.withdraw(config.localSockets, port, config.unix);
    }
    quietly(tcp);
    quietly(unix);
    unsettled.keySet().forEach(Endpoint::quietly);
    // The system may listen on until the thread has left its call.
    try {
      for (Thread t : acceptors) {
        if (t != Thread.currentThread()) {
          platform.timers().join(t, CLOSE_LIMIT);
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
