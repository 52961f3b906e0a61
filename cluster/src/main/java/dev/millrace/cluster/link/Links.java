package dev.millrace.cluster.link;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Platform;
import dev.millrace.base.Timers;
import dev.millrace.base.config.ClusterSettings;
import dev.millrace.base.config.Config;
import dev.millrace.base.context.Context;
import java.io.EOFException;
import java.io.IOException;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.net.InetSocketAddress;
import java.net.StandardProtocolFamily;
import java.net.StandardSocketOptions;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The links of a process: it accepts those who come with a ticket, connects to others, and watches
 * over them all. A process on the same host and of the same user is reached through a socket in its
 * folder and shares memory; any other by TCP.
 *
 * <p>Liveness is apart from the data: every link gives a sign of life each second, and one that has
 * given none for a few is lost, whatever the reason.
 *
 * <p>Threading: any thread.
 */
public final class Links implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Links.class);

  private static final long TICK_NANOS = 250_000_000L;
  private static final long BEAT_NANOS = 700_000_000L;
  private static final long HANDSHAKE_NANOS = 10_000_000_000L;
  private static final long SHORTEST_PAUSE_NANOS = 100_000_000L;
  private static final long LONGEST_PAUSE_NANOS = 3_200_000_000L;
  private static final int MAX_SKIPPED_RUNS = 32;

  /** Delays heartbeats by a second at most. */
  private static final int MAX_SKIPPED_TICKS = 4;

  /** Limit on connections that have not shown a ticket; the oldest is closed beyond it. */
  private static final int MAX_UNAUTHENTICATED = 256;

  private static final int CONNECT_MILLIS = 3000;
  private static final long CONNECT_NANOS = 1_000_000L * CONNECT_MILLIS;

  /** Tells a link from whatever else may connect. */
  private static final long MAGIC = 0x6b6e694c6c6c694dL;

  /** Instead of {@link #MAGIC}: a greeting follows, and the connection ends with the answer. */
  private static final long GREETING_MAGIC = 0x7465657247726c4dL;

  private static final int MAX_GREETING_BYTES = 16 << 20;

  /** Somebody who was told how to connect and has not done so yet. */
  private record Invited(TaskIdentity who, String folder, long sinceNanos) {}

  private record Ticket(long high, long low) {}

  /**
   * After this long without a heartbeat a process counts as lost. Must be the same in all
   * processes: the lease of a call relies on peers not giving up earlier.
   */
  private final Duration silence;

  private final Config settings;
  private final LinkService service;
  private final Executor threads;
  private final LinkFolder folder;
  private final ServerSocketChannel local;
  private final ServerSocketChannel tcp;
  private final Platform platform;
  private final Timers timers;
  private final Timers.Schedule timer;
  private final Map<Ticket, Invited> invited = new ConcurrentHashMap<>();

  /** Connections that have not shown a ticket, and since when. */
  private final Map<SocketChannel, Long> unauthenticated = new ConcurrentHashMap<>();

  /** Outgoing connections whose handshake is not complete, and since when. */
  private final Map<SocketChannel, Long> handshakes = new ConcurrentHashMap<>();

  private final Map<String, Link> byTask = new ConcurrentHashMap<>();
  private final List<Link> all = new CopyOnWriteArrayList<>();
  private long lastTickNanos;
  private long collectionMillis;

  /** When this process was last found to have been held up, or when it began. */
  private volatile long heldUpNanos;

  private volatile boolean closed;

  /**
   * Opens the process to links.
   *
   * @param address where to accept links from other hosts, port 0 for any; null to accept none
   */
  public Links(
      String name,
      InetSocketAddress address,
      LinkService service,
      Executor threads,
      Platform platform) {
    this.settings = Context.current().config();
    this.silence = settings.get(ClusterSettings.LINK_SILENCE);
    this.platform = platform;
    this.timers = platform.timers();
    this.lastTickNanos = timers.now();
    this.heldUpNanos = lastTickNanos;
    this.service = service;
    this.threads = threads;
    LinkFolder f = null;
    ServerSocketChannel l = null;
    ServerSocketChannel t = null;
    try {
      if (platform.sharesMemory() && settings.get(ClusterSettings.LINK_WITHIN_HOST)) {
        f = LinkFolder.create();
        l = platform.sockets().openServerSocketChannel(StandardProtocolFamily.UNIX);
        l.bind(UnixDomainSocketAddress.of(f.socket()));
      }
    } catch (IOException | UnsupportedOperationException e) {
      LOG.debug("No links within the host: {}", e.toString());
    } catch (MillraceException e) {
      LOG.warn("Links within this host use TCP, not shared memory: {}", e.getMessage());
    }
    try {
      if (address != null) {
        t = platform.sockets().openServerSocketChannel();
        t.bind(address);
      }
    } catch (IOException e) {
      closeQuietly(t);
      t = null;
      if (address.getPort() != 0) {
        throw new MillraceException(
            Code.UNAVAILABLE,
            name
                + " cannot listen on "
                + address.getHostString()
                + ":"
                + address.getPort()
                + ": "
                + e.getMessage()
                + ". Stop the other process or change the address in the cluster spec.",
            e);
      }
      LOG.debug("No links from other hosts: {}", e.toString());
    }
    folder = f;
    local = l;
    tcp = t;
    timer = timers.schedule(name + "-beat");
    timer.every(TICK_NANOS, new PeriodicTask(this::tick, MAX_SKIPPED_TICKS));
    every(Duration.ofSeconds(1), () -> all.forEach(Link::giveBackUnused));
    for (ServerSocketChannel c : new ServerSocketChannel[] {local, tcp}) {
      if (c != null) {
        platform.newThread(name + "-accept", () -> accept(c)).start();
      }
    }
  }

  /** The link to a task, or null. */
  public Link to(String task) {
    return byTask.get(task);
  }

  /** All links, for status and leak checks. */
  public List<Link> all() {
    return List.copyOf(all);
  }

  /** Runs something later on the thread that watches the links; it must not wait. */
  public void later(Duration delay, Runnable action) {
    timer.later(delay.toNanos(), action);
  }

  /**
   * Runs an action periodically on the thread that watches the links; it must not block. After a
   * failure it runs again, less often.
   */
  public void every(Duration period, Runnable action) {
    timer.every(period.toNanos(), new PeriodicTask(action, MAX_SKIPPED_RUNS));
  }

  /** Whether this process itself was held up after {@code nanos}: others could not be heard. */
  public boolean heldUpSince(long nanos) {
    return heldUpNanos - nanos > 0;
  }

  // ---- being connected to ----

  /** Where this process shares memory; empty if it does not. */
  public String folder() {
    return local == null ? "" : folder.path().toString();
  }

  /** The port for links from other hosts; 0 if there is none. */
  public int port() {
    try {
      return tcp == null ? 0 : ((InetSocketAddress) tcp.getLocalAddress()).getPort();
    } catch (IOException e) {
      // The listener is closed.
      return 0;
    }
  }

  /** Admits {@code who}; the two numbers are what it must show when it connects. */
  public long[] invite(TaskIdentity who, String folderOfGuest) {
    Ticket t = new Ticket(platform.secureRandom().nextLong(), platform.secureRandom().nextLong());
    invited.put(t, new Invited(who, folderOfGuest, timers.now()));
    return new long[] {t.high, t.low};
  }

  /** Accepts connections. Survives every failure: otherwise no peer could connect any more. */
  private void accept(ServerSocketChannel listener) {
    long pause = SHORTEST_PAUSE_NANOS;
    while (!closed) {
      SocketChannel c = null;
      try {
        c = listener.accept();
        admit(c, listener == tcp);
        pause = SHORTEST_PAUSE_NANOS;
      } catch (Throwable t) {
        if (c != null) {
          unauthenticated.remove(c);
          closeQuietly(c);
        }
        if (!listener.isOpen()) {
          if (!closed) {
            LOG.warn("This task accepts no more links, its listener is closed: {}", t.toString());
          }
          return;
        }
        // Out of file descriptors or threads, most likely: an immediate retry would fail too.
        logFailure(t);
        timers.park(this, pause);
        pause = Math.min(2 * pause, LONGEST_PAUSE_NANOS);
      }
    }
  }

  private static void logFailure(Throwable t) {
    try {
      LOG.warn("Cannot accept a link, will retry: {}", t.toString());
    } catch (Throwable again) {
      // Logging fails as well, most likely for lack of memory.
    }
  }

  /** Starts the handshake of an unauthenticated peer, on a virtual thread because that is cheap. */
  private void admit(SocketChannel c, boolean byTcp) throws IOException {
    if (unauthenticated.size() >= MAX_UNAUTHENTICATED) {
      unauthenticated.entrySet().stream()
          .min(Comparator.comparingLong(g -> g.getValue() - timers.now()))
          .ifPresent(
              oldest -> {
                unauthenticated.remove(oldest.getKey());
                closeQuietly(oldest.getKey());
              });
    }
    unauthenticated.put(c, timers.now());
    if (byTcp) {
      c.setOption(StandardSocketOptions.TCP_NODELAY, true);
    }
    platform.newVirtualThread("millrace-link-handshake", () -> welcome(c)).start();
  }

  private void welcome(SocketChannel c) {
    try {
      Invited guest = authenticate(c);
      if (guest == null) {
        unauthenticated.remove(c);
        closeQuietly(c);
        return;
      }
      LinkInput in = new LinkInput(c, timers);
      LinkOutput out = new LinkOutput(c);
      boolean sameHost = c.getLocalAddress() instanceof UnixDomainSocketAddress;
      SharedFiles shared = sameHost ? shared(guest.folder) : null;
      out.putLong(MAGIC);
      out.putByte(shared != null ? 1 : 0);
      out.flush();
      if (unauthenticated.remove(c) == null) {
        throw new IOException("the handshake took too long");
      }
      add(new Link(guest.who, c, in, out, shared, service, threads, platform, silence));
    } catch (Throwable t) {
      unauthenticated.remove(c);
      closeQuietly(c);
      LOG.debug("Closed a connection that is not a link: {}", t.toString());
    }
  }

  /** Reads the ticket and returns the peer it was issued to; null after a greeting. */
  private Invited authenticate(SocketChannel c) throws IOException {
    ByteBuffer shown = ByteBuffer.allocate(3 * Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
    while (shown.hasRemaining()) {
      if (c.read(shown) < 0) {
        throw new EOFException("closed before it sent a ticket");
      }
    }
    shown.flip();
    long magic = shown.getLong();
    if (magic == GREETING_MAGIC) {
      answerGreeting(c, shown.getLong());
      return null;
    }
    if (magic != MAGIC) {
      throw new IOException("not a link");
    }
    Invited guest = invited.remove(new Ticket(shown.getLong(), shown.getLong()));
    if (guest == null) {
      throw new IOException("the ticket was not issued here or has expired");
    }
    return guest;
  }

  private void answerGreeting(SocketChannel c, long bytes) throws IOException {
    if (bytes < 0 || bytes > MAX_GREETING_BYTES) {
      throw new IOException("a greeting of " + bytes + " bytes");
    }
    byte[] greeting = new LinkInput(c, timers).getBytes();
    LinkOutput out = new LinkOutput(c);
    try {
      byte[] answer = service.greeted(greeting);
      out.putLong(GREETING_MAGIC);
      out.putByte(0);
      out.putBytes(answer);
    } catch (MillraceException e) {
      out.putLong(GREETING_MAGIC);
      out.putByte(e.code().number());
      out.putString(String.valueOf(e.getMessage()));
    }
    out.flush();
  }

  private SharedFiles shared(String peersFolder) {
    Path theirs = sibling(peersFolder);
    return theirs == null ? null : new SharedFiles(folder.path(), theirs, settings);
  }

  /** The folder of another process of this user on this host; null if it is not one. */
  private Path sibling(String peersFolder) {
    return folder == null || peersFolder.isEmpty() ? null : folder.sibling(Path.of(peersFolder));
  }

  // ---- connecting ----

  /**
   * Connects to the process that sent {@code host}, which knows it as {@code name}. Waits for at
   * most a few seconds.
   */
  public Link connect(String name, String address, Greeting host) throws IOException {
    SocketChannel c = null;
    boolean sameHost = false;
    Path theirs = sibling(host.folder());
    if (theirs != null) {
      try {
        c = connect(LinkFolder.socketIn(theirs));
        sameHost = true;
      } catch (IOException e) {
        LOG.debug("Cannot reach {} within this host: {}", name, e.toString());
      }
    }
    if (c == null) {
      if (host.port() == 0) {
        throw new IOException(name + " accepts no links from other hosts");
      }
      c = connect(address.substring(0, address.lastIndexOf(':')), host.port());
    }
    handshakes.put(c, timers.now());
    try {
      LinkInput in = new LinkInput(c, timers);
      LinkOutput out = new LinkOutput(c);
      out.putLong(MAGIC);
      out.putLong(host.ticketHigh());
      out.putLong(host.ticketLow());
      out.flush();
      if (in.getLong() != MAGIC) {
        throw new IOException(name + " does not speak the link's protocol");
      }
      boolean share = in.getByte() != 0 && sameHost;
      Link link =
          new Link(
              new TaskIdentity(name, host.identity().incarnation(), address),
              c,
              in,
              out,
              share ? new SharedFiles(folder.path(), theirs, settings) : null,
              service,
              threads,
              platform,
              silence);
      add(link);
      return link;
    } catch (IOException | RuntimeException e) {
      closeQuietly(c);
      throw e;
    } finally {
      handshakes.remove(c);
    }
  }

  /**
   * Greets the process that accepts links at {@code host:port} and returns its answer, or throws
   * what it refuses with. Waits for at most a few seconds.
   */
  public byte[] greet(String address, byte[] greeting) throws IOException {
    int colon = address.lastIndexOf(':');
    SocketChannel c =
        connect(address.substring(0, colon), Integer.parseInt(address.substring(colon + 1)));
    handshakes.put(c, timers.now());
    try {
      LinkOutput out = new LinkOutput(c);
      out.putLong(GREETING_MAGIC);
      out.putLong(greeting.length);
      out.putLong(0);
      out.putBytes(greeting);
      out.flush();
      LinkInput in = new LinkInput(c, timers);
      if (in.getLong() != GREETING_MAGIC) {
        throw new IOException("what listens there does not speak the link's protocol");
      }
      int code = in.getByte();
      byte[] answer = in.getBytes();
      if (code != 0) {
        throw new MillraceException(Code.of(code), new String(answer, StandardCharsets.UTF_8));
      }
      return answer;
    } finally {
      handshakes.remove(c);
      closeQuietly(c);
    }
  }

  /** Connects with a deadline: a stopped process does not accept, and its backlog may be full. */
  private SocketChannel connect(Path socket) throws IOException {
    SocketChannel c = platform.sockets().openSocketChannel(StandardProtocolFamily.UNIX);
    Timers.Timer deadline = timer.later(CONNECT_NANOS, () -> closeQuietly(c));
    try {
      if (closed) {
        throw new IOException("this process is shutting down");
      }
      c.connect(UnixDomainSocketAddress.of(socket));
      return c;
    } catch (IOException | RuntimeException e) {
      closeQuietly(c);
      throw e;
    } finally {
      deadline.cancel();
    }
  }

  private SocketChannel connect(String host, int port) throws IOException {
    SocketChannel c = platform.sockets().openSocketChannel();
    try {
      c.setOption(StandardSocketOptions.TCP_NODELAY, true);
      c.socket().connect(new InetSocketAddress(host, port), CONNECT_MILLIS);
      return c;
    } catch (IOException | RuntimeException e) {
      closeQuietly(c);
      throw e;
    }
  }

  private void add(Link link) {
    all.add(link);
    if (!link.peer().isClient()) {
      byTask.put(link.peer().task(), link);
    }
    link.start();
    service.linked(link);
    if (closed) {
      link.close();
    }
  }

  /** Forgets a link that is lost. For the service that is told of it. */
  public void remove(Link link) {
    all.remove(link);
    if (!link.peer().isClient()) {
      // Two processes that greeted each other at once have a second link.
      byTask.compute(
          link.peer().task(),
          (task, l) ->
              l != link
                  ? l
                  : all.stream()
                      .filter(o -> o.peer().equals(link.peer()) && o.loss() == null)
                      .findFirst()
                      .orElse(null));
    }
  }

  // ---- watching ----

  private void tick() {
    long now = timers.now();
    long since = now - lastTickNanos;
    lastTickNanos = now;
    boolean heldUp = since > TICK_NANOS + 1_000_000_000L;
    if (!heldUp) {
      collectionMillis = collectionMillisSoFar();
    }
    if (heldUp) {
      heldUpNanos = now;
      logPause(since);
    }
    for (Link l : all) {
      watch(l, heldUp);
    }
    for (Map<SocketChannel, Long> half : List.of(unauthenticated, handshakes)) {
      half.forEach(
          (c, start) -> {
            if (now - start > HANDSHAKE_NANOS) {
              half.remove(c);
              closeQuietly(c);
            }
          });
    }
    invited.values().removeIf(i -> now - i.sinceNanos > HANDSHAKE_NANOS);
  }

  /** Explains why peers may have given this process up. */
  private void logPause(long nanos) {
    long before = collectionMillis;
    collectionMillis = collectionMillisSoFar();
    LOG.warn(
        "This process was paused for {} s, {} s of it in garbage collection. Peers give it up after"
            + " {} s (-Dmillrace.link.silence.millis).",
        seconds(nanos / 1_000_000),
        seconds(collectionMillis - before),
        seconds(silence.toMillis()));
  }

  private static String seconds(long millis) {
    return String.format(Locale.ROOT, "%.1f", millis / 1e3);
  }

  private static long collectionMillisSoFar() {
    return ManagementFactory.getGarbageCollectorMXBeans().stream()
        .mapToLong(GarbageCollectorMXBean::getCollectionTime)
        .sum();
  }

  /** Checks one link and sends its heartbeat. A failure does not affect the other links. */
  private void watch(Link l, boolean heldUp) {
    try {
      if (heldUp) {
        l.excuseSilence();
        l.expireLease();
      }
      long silent = l.silenceNanos();
      if (silent > silence.toNanos()) {
        LOG.debug("No sign of life from {} for {} ms.", l.peer(), silent / 1_000_000);
        l.lose(
            new MillraceException(
                Code.UNAVAILABLE,
                String.format(
                    Locale.ROOT,
                    "%s has given no sign of life for %.1f s: its process is stopped, its host or"
                        + " the network is down.",
                    l.peer(),
                    silent / 1e9)));
      } else {
        l.beat(BEAT_NANOS);
      }
    } catch (Throwable t) {
      LOG.warn("Cannot send a heartbeat to {}: {}", l.peer(), t.toString());
    }
  }

  private static void closeQuietly(java.io.Closeable c) {
    try {
      if (c != null) {
        c.close();
      }
    } catch (IOException e) {
      LOG.debug("Closing failed: {}", e.getMessage());
    }
  }

  /** Takes leave of all. */
  @Override
  public void close() {
    closed = true;
    timer.close();
    for (ServerSocketChannel c : new ServerSocketChannel[] {local, tcp}) {
      if (c != null) {
        closeQuietly(c);
      }
    }
    for (Link link : all) {
      try {
        link.close();
      } catch (RuntimeException | Error e) {
        LOG.debug("A link was closed without a last frame: {}", e.toString());
      }
    }
    handshakes.keySet().forEach(Links::closeQuietly);
    unauthenticated.keySet().forEach(Links::closeQuietly);
    if (folder != null) {
      folder.close();
    }
  }
}
