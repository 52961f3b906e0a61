package dev.millrace.cluster.link;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Platform;
import dev.millrace.base.Timers;
import dev.millrace.base.config.ClusterSettings;
import dev.millrace.base.config.Config;
import dev.millrace.base.context.Context;
import dev.millrace.graph.name.DeviceSpec;
import dev.millrace.net.Admission;
import dev.millrace.net.Connection;
import dev.millrace.net.Dialer;
import dev.millrace.net.Endpoint;
import dev.millrace.net.PeerIdentity;
import java.io.EOFException;
import java.io.IOException;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.ClosedChannelException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import javax.net.ssl.SSLException;
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
  private static final Duration HANDSHAKE = Duration.ofSeconds(10);
  private static final int MAX_SKIPPED_RUNS = 32;

  /** Delays heartbeats by a second at most. */
  private static final int MAX_SKIPPED_TICKS = 4;

  private static final Duration CONNECT = Duration.ofSeconds(3);

  /** The first byte of a link and of a greeting: the lowest of the two numbers that follow. */
  private static final byte FIRST = 0x4d;

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
  private final Endpoint endpoint;
  private final Dialer dialer;
  private final Platform platform;
  private final Timers timers;
  private final Timers.Schedule timer;
  private final Map<Ticket, Invited> invited = new ConcurrentHashMap<>();

  private final Map<String, Link> byTask = new ConcurrentHashMap<>();
  private final List<Link> all = new CopyOnWriteArrayList<>();
  private long lastTickNanos;
  private long collectionMillis;

  /** When this process was last found to have been held up, or when it began. */
  private volatile long heldUpNanos;

  private volatile boolean closed;

  /**
   * Opens the process to links; it accepts them after {@link #start}.
   *
   * @param name of the process, for messages
   * @param address where to accept connections, port 0 for any; null to accept none from elsewhere
   * @param admission who this process is, and whom it admits
   */
  public Links(
      String name,
      InetSocketAddress address,
      Admission admission,
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
    this.folder = folder(platform, settings);
    // A process without links is not greeted by its socket, and greets nobody by theirs.
    Path siblings =
        folder == null || !settings.get(ClusterSettings.LINK) ? null : folder.path().getParent();
    try {
      endpoint =
          new Endpoint(
              new Endpoint.Config(
                  name,
                  address,
                  folder == null ? null : folder.socket(),
                  siblings,
                  admission,
                  HANDSHAKE),
              platform);
    } catch (MillraceException e) {
      if (folder != null) {
        folder.close();
      }
      throw e;
    }
    dialer = new Dialer(platform, admission.credential(), siblings, CONNECT, HANDSHAKE);
    timer = timers.schedule(name + "-beat");
    timer.every(TICK_NANOS, new PeriodicTask(this::tick, MAX_SKIPPED_TICKS));
    every(Duration.ofSeconds(1), () -> all.forEach(Link::giveBackUnused));
    endpoint.serve(
        FIRST,
        new Endpoint.Protocol() {
          @Override
          public void serve(Connection c) throws IOException {
            welcome(c);
          }

          @Override
          public void refuse(Connection c, String why) throws IOException {
            Links.this.refuse(c, why);
          }
        });
  }

  private static LinkFolder folder(Platform platform, Config settings) {
    if (!platform.sharesMemory() || !settings.get(ClusterSettings.LINK_WITHIN_HOST)) {
      return null;
    }
    try {
      return LinkFolder.create();
    } catch (IOException | UnsupportedOperationException e) {
      LOG.debug("No links within the host: {}", e.toString());
    } catch (MillraceException e) {
      LOG.warn("Links within this host use TCP, not shared memory: {}", e.getMessage());
    }
    return null;
  }

  /** Accepts connections from now on. */
  public void start() {
    endpoint.start();
  }

  /** Where this process accepts connections, for protocols beside the links'. */
  public Endpoint endpoint() {
    return endpoint;
  }

  /** Opens connections to other processes. */
  public Dialer dialer() {
    return dialer;
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
    return endpoint.hasUnixSocket() ? folder.path().toString() : "";
  }

  /** The port for links from other hosts; 0 if there is none. */
  public int port() {
    return endpoint.port();
  }

  /**
   * Admits {@code who}; the two numbers are what it must show when it connects.
   *
   * @param who its address is that of the task by this process's own cluster spec
   */
  public long[] invite(TaskIdentity who, String folderOfGuest) {
    Ticket t = new Ticket(platform.secureRandom().nextLong(), platform.secureRandom().nextLong());
    invited.put(t, new Invited(who, folderOfGuest, timers.now()));
    return new long[] {t.high, t.low};
  }

  private void welcome(Connection c) throws IOException {
    // Nothing larger is allocated for a peer that has shown nothing.
    ByteBuffer head = ByteBuffer.allocate(3 * Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
    while (head.hasRemaining()) {
      if (c.read(head) < 0) {
        throw new EOFException("closed before it sent a ticket");
      }
    }
    head.flip();
    long magic = head.getLong();
    if (magic == GREETING_MAGIC) {
      answerGreeting(c, head.getLong());
      c.settle();
      c.close();
      return;
    }
    Invited guest =
        magic == MAGIC ? invited.remove(new Ticket(head.getLong(), head.getLong())) : null;
    if (guest == null) {
      throw new IOException(
          magic == MAGIC ? "the ticket was not issued here or has expired" : "not a link");
    }
    checkIdentity(c.peer(), guest.who.task(), guest.who.address());
    LinkInput in = new LinkInput(c, timers);
    LinkOutput out = new LinkOutput(c);
    SharedFiles shared = c.isLocal() ? shared(guest.folder) : null;
    out.putLong(MAGIC);
    out.putByte(shared != null ? 1 : 0);
    out.flush();
    if (!c.settle()) {
      throw new IOException("the handshake took too long");
    }
    add(new Link(guest.who, c, in, out, shared, service, threads, platform, silence));
  }

  /**
   * Refuses a peer that has proved to be another than it says it is.
   *
   * @param name the task it says it is; empty for a client
   * @param address of that task, by this process's own cluster spec
   */
  public static void checkIdentity(PeerIdentity proved, String name, String address) {
    if (proved.isAuthenticated() && !name.isEmpty()) {
      DeviceSpec task = DeviceSpec.parse(name);
      int colon = address.lastIndexOf(':');
      String host = colon < 0 ? address : address.substring(0, colon);
      if (!proved.maySpeakFor(task.job() + "/" + task.task(), host)) {
        throw new MillraceException(
            Code.PERMISSION_DENIED,
            "The credential is for "
                + proved
                + " and not for "
                + name
                + ". Give each task the credential with its own name.");
      }
    }
  }

  private void answerGreeting(Connection c, long bytes) throws IOException {
    if (bytes < 0 || bytes > MAX_GREETING_BYTES) {
      throw new IOException("a greeting of " + bytes + " bytes");
    }
    byte[] greeting = new LinkInput(c, timers).getBytes(MAX_GREETING_BYTES);
    if (greeting == null) {
      throw new IOException("a greeting of more than " + MAX_GREETING_BYTES + " bytes");
    }
    LinkOutput out = new LinkOutput(c);
    try {
      byte[] answer = service.greeted(greeting, c.peer());
      out.putLong(GREETING_MAGIC);
      out.putByte(0);
      out.putBytes(answer);
      out.flush();
    } catch (MillraceException e) {
      refuse(out, e);
    }
  }

  /** Answers a greeting with an error; a link, which expects less, just ends. */
  private void refuse(Connection c, String why) throws IOException {
    refuse(new LinkOutput(c), new MillraceException(Code.UNAUTHENTICATED, why));
    c.finish();
  }

  private static void refuse(LinkOutput out, MillraceException e) throws IOException {
    out.putLong(GREETING_MAGIC);
    out.putByte(e.code().number());
    out.putString(String.valueOf(e.getMessage()));
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
    Connection c = null;
    Path theirs = sibling(host.folder());
    if (theirs != null) {
      try {
        c = dialer.connect(LinkFolder.socketIn(theirs));
      } catch (IOException e) {
        LOG.debug("Cannot reach {} within this host: {}", name, e.toString());
      }
    }
    boolean sameHost = c != null;
    if (c == null) {
      if (host.port() == 0) {
        throw new IOException(name + " accepts no links from other hosts");
      }
      String at = address.substring(0, address.lastIndexOf(':'));
      c = dialer.connect(new InetSocketAddress(at, host.port()));
    }
    try {
      checkIdentity(c.peer(), name, address);
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
      if (!c.settle()) {
        throw new IOException(name + " took too long");
      }
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
    }
  }

  /**
   * Greets the process that accepts links at {@code host:port} and returns its answer, or throws
   * what it refuses with.
   *
   * @param name the task that must be there; empty for any
   * @param limit how long it may take
   */
  public byte[] greet(String name, String address, byte[] greeting, Duration limit)
      throws IOException {
    try (Connection c = dialer.connect(address, limit)) {
      checkIdentity(c.peer(), name, address);
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
      byte[] answer = in.getBytes(MAX_GREETING_BYTES);
      c.settle();
      if (answer == null) {
        throw new IOException("an answer of more than " + MAX_GREETING_BYTES + " bytes");
      }
      if (code != 0) {
        throw new MillraceException(Code.of(code), new String(answer, StandardCharsets.UTF_8));
      }
      return answer;
    } catch (SSLException e) {
      throw dialer.refused(address, e);
    } catch (ClosedChannelException e) {
      throw new MillraceException(
          Code.DEADLINE_EXCEEDED,
          (name.isEmpty() ? "The process" : name)
              + " at "
              + address
              + " has not answered a greeting within "
              + limit.toMillis()
              + " ms.",
          e);
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
    invited.values().removeIf(i -> now - i.sinceNanos > HANDSHAKE.toNanos());
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
    endpoint.close();
    for (Link link : all) {
      try {
        link.close();
      } catch (RuntimeException | Error e) {
        LOG.debug("A link was closed without a last frame: {}", e.toString());
      }
    }
    dialer.close();
    if (folder != null) {
      folder.close();
    }
  }
}
