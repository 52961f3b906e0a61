package dev.millrace.collective.peers;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Platform;
import dev.millrace.base.Timers;
import dev.millrace.collective.member.Acceptor;
import dev.millrace.collective.member.Handshake;
import dev.millrace.collective.member.Hosts;
import dev.millrace.collective.member.Member;
import dev.millrace.collective.member.PrivateFolder;
import dev.millrace.collective.member.RankConfig;
import dev.millrace.collective.member.Timeouts;
import dev.millrace.collective.member.Token;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;

/**
 * Connects the ranks of a job with each other once they have joined it: they tell each other where
 * they are, create shared memory where they share a host, and open a connection to everybody else.
 * Of each pair the higher rank calls the lower.
 */
public final class Connector implements AutoCloseable {
  /**
   * The ranks connected.
   *
   * @param peers what collective operations run on
   * @param hosts which ranks share a host, whatever they use to talk
   */
  public record Connected(RankPeers peers, Topology hosts) {}

  private static final long LOOK_NANOS = 100_000_000L;

  private final Member member;
  private final Token token;
  private final RankConfig place;
  private final Transport transport;
  private final Timeouts terms;
  private final Platform platform;
  private final Timers timers;
  private final boolean background;
  private final int rank;

  /** Channels on which higher ranks have called or are to call, until a link takes them over. */
  private final Map<Integer, CompletableFuture<SocketChannel>> calls = new ConcurrentHashMap<>();

  private final List<Acceptor> doors = new ArrayList<>();
  private Path socket;

  private Connector(
      Member member,
      Token token,
      RankConfig place,
      Transport transport,
      Timeouts terms,
      Platform platform,
      boolean background) {
    this.platform = platform;
    this.timers = platform.timers();
    this.member = member;
    this.token = token;
    this.place = place;
    this.transport = transport;
    this.terms = terms;
    this.background = background;
    this.rank = member.rank();
    for (int r = rank + 1; r < member.size(); r++) {
      calls.put(r, new CompletableFuture<>());
    }
  }

  /**
   * Connects all ranks of the member's job, which will reduce in the {@code background} of what
   * they compute or have nothing else to do.
   */
  public static Connected connect(
      Member member,
      Token token,
      RankConfig place,
      Transport transport,
      Timeouts terms,
      Platform platform,
      boolean background) {
    try (Connector c =
        new Connector(member, token, place, transport, terms, platform, background)) {
      return c.connect();
    } catch (IOException e) {
      throw member.fail(
          new MillraceException(
              Code.UNAVAILABLE,
              String.format(
                  "Rank %d cannot listen for data of other ranks at %s: %s. MILLRACE_BIND must be"
                      + " an address of this host.",
                  member.rank(), place.bind(), e.getMessage()),
              e));
    }
  }

  private Connected connect() throws IOException {
    Roster roster = Roster.exchange(member, listen());
    Topology hosts = roster.hosts();
    boolean share = transport == Transport.AUTO || transport == Transport.SHARED_MEMORY;
    SharedMemorySetup.Created created =
        share
            ? SharedMemorySetup.create(member, hosts, transport == Transport.SHARED_MEMORY)
            : new SharedMemorySetup.Created(null, new boolean[member.size()]);
    PeerLink[] links = new PeerLink[member.size()];
    try {
      for (int r = 0; r < links.length; r++) {
        links[r] = r == rank ? null : link(r, roster, hosts, created);
      }
      // Nobody closes its door before all have come through.
      member.exchange("connected", new byte[0]);
    } catch (RuntimeException e) {
      for (PeerLink link : links) {
        if (link != null) {
          link.close();
        }
      }
      throw e;
    }
    HostGroup island = created.region() == null ? null : HostGroup.of(created.region());
    Topology topology = topology(hosts, created.shares());
    IdleStrategy idling = IdleStrategy.of(roster.neighbours(rank), background);
    RankPeers peers = new Mesh(rank, topology, links, island, member, idling, platform);
    return new Connected(peers, hosts);
  }

  /** Ranks that share memory are together, all others apart. */
  private static Topology topology(Topology hosts, boolean[] shares) {
    List<Object> keys = new ArrayList<>();
    for (int r = 0; r < shares.length; r++) {
      keys.add(shares[r] ? "host " + hosts.islandOf(r) : "rank " + r);
    }
    return Topology.of(keys);
  }

  // ---- listening ----

  private Roster.Entry listen() throws IOException {
    ServerSocketChannel tcp = platform.sockets().openServerSocketChannel();
    tcp.bind(new InetSocketAddress(place.bind(), 0), Math.max(128, member.size()));
    doors.add(Acceptor.open(tcp, token, platform, this::welcome));
    InetSocketAddress bound = (InetSocketAddress) tcp.getLocalAddress();
    InetAddress address =
        bound.getAddress().isAnyLocalAddress()
            ? member.localAddress().getAddress()
            : bound.getAddress();
    long unique = platform.secureRandom().nextLong();
    socket = PrivateFolder.ofUser().resolve("s" + HexFormat.of().toHexDigits(unique));
    ServerSocketChannel unix =
        platform.sockets().openServerSocketChannel(StandardProtocolFamily.UNIX);
    unix.bind(UnixDomainSocketAddress.of(socket), Math.max(128, member.size()));
    doors.add(Acceptor.open(unix, token, platform, this::welcome));
    String host = place.host() == null ? Hosts.identity() : place.host();
    return Roster.Entry.here(host, address.getHostAddress(), bound.getPort(), socket.toString());
  }

  private void welcome(Handshake.Hello hello, SocketChannel channel) {
    CompletableFuture<SocketChannel> call = calls.get(hello.rank());
    boolean expected =
        hello.purpose() == Handshake.Purpose.DATA && hello.size() == member.size() && call != null;
    if (!expected || !call.complete(channel)) {
      throw new IllegalStateException("unexpected " + hello);
    }
  }

  // ---- connecting ----

  private PeerLink link(
      int other, Roster roster, Topology hosts, SharedMemorySetup.Created created) {
    boolean sameHost = hosts.islandOf(other) == hosts.islandOf(rank);
    if (sameHost && created.shares()[rank]) {
      return created.region().link(hosts.localRank(other));
    }
    try {
      SocketChannel channel = other > rank ? awaitCall(other) : call(other, roster, sameHost);
      return new StreamLink(channel);
    } catch (IOException e) {
      throw member.fail(
          new MillraceException(
              Code.UNAVAILABLE,
              String.format(
                  "Rank %d cannot connect to rank %d at %s: %s.",
                  rank, other, roster.of(other).address(), e.getMessage()),
              e));
    }
  }

  private SocketChannel awaitCall(int other) {
    long end = timers.now() + terms.join().toNanos();
    while (timers.now() - end < 0) {
      try {
        SocketChannel channel = timers.get(calls.get(other), LOOK_NANOS);
        calls.remove(other);
        return channel;
      } catch (TimeoutException e) {
        MillraceException failure = member.failure();
        if (failure != null) {
          throw failure;
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new MillraceException(Code.CANCELLED, "Interrupted while joining a job.", e);
      } catch (ExecutionException e) {
        throw MillraceException.of(e);
      }
    }
    throw member.fail(
        new MillraceException(
            Code.DEADLINE_EXCEEDED,
            String.format(
                "Rank %d has waited %d s for rank %d, which lives, to connect to it at %s. See that"
                    + " rank's log, and that it can reach this address: MILLRACE_BIND chooses"
                    + " another. The limit is MILLRACE_JOIN_TIMEOUT.",
                rank, terms.join().toSeconds(), other, doors.getFirst().address())));
  }

  private SocketChannel call(int other, Roster roster, boolean sameHost) throws IOException {
    Roster.Entry to = roster.of(other);
    SocketAddress address;
    if (sameHost && transport != Transport.TCP) {
      address = UnixDomainSocketAddress.of(to.socket());
    } else {
      InetAddress ip = InetAddress.getByName(to.address());
      if (ip.isLoopbackAddress() && !to.network().equals(roster.of(rank).network())) {
        throw new IOException(
            String.format(
                "it listens on loopback only (%s) and is on another host. Set MILLRACE_BIND on"
                    + " every host to the address its ranks shall listen on",
                to.address()));
      }
      address = new InetSocketAddress(ip, to.port());
    }
    Handshake.Hello hello = new Handshake.Hello(Handshake.Purpose.DATA, rank, member.size());
    long end = timers.now() + terms.join().toNanos();
    SocketChannel channel = open(address);
    try {
      Handshake.call(channel, token, hello, platform, end);
      return channel;
    } catch (IOException | RuntimeException e) {
      channel.close();
      throw e;
    }
  }

  private SocketChannel open(SocketAddress address) throws IOException {
    boolean unix = address instanceof UnixDomainSocketAddress;
    SocketChannel channel =
        unix
            ? platform.sockets().openSocketChannel(StandardProtocolFamily.UNIX)
            : platform.sockets().openSocketChannel();
    try {
      if (unix) {
        channel.connect(address);
        return channel;
      }
      channel.socket().connect(address, (int) terms.join().toMillis());
      return channel;
    } catch (IOException e) {
      channel.close();
      throw e;
    }
  }

  /** Closes the doors: nobody is expected any more, and who comes late is turned away. */
  @Override
  public void close() throws IOException {
    doors.forEach(Acceptor::close);
    calls.values().forEach(c -> c.thenAccept(Connector::drop));
    if (socket != null) {
      Files.deleteIfExists(socket);
    }
  }

  private static void drop(SocketChannel channel) {
    try {
      channel.close();
    } catch (IOException e) {
      // Nobody is left to tell.
    }
  }
}
