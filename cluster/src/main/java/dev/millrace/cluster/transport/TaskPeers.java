package dev.millrace.cluster.transport;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.config.ClusterSettings;
import dev.millrace.base.context.Context;
import dev.millrace.cluster.link.Links;
import dev.millrace.cluster.peer.PushChannel;
import dev.millrace.cluster.peer.WorkerPeer;
import dev.millrace.cluster.peer.WorkerPeers;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.graph.name.DeviceSpec;
import io.grpc.ManagedChannel;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/**
 * The other tasks of a cluster. Each is reached over a link, and by gRPC where there is none; the
 * way is opened when it is first needed.
 *
 * <p>Threading: any thread.
 */
public final class TaskPeers implements WorkerPeers, AutoCloseable {
  private static final Duration CHECK = Duration.ofSeconds(1);

  /** How long a task may take to say that it is there. */
  static final Duration PATIENCE = Duration.ofSeconds(3);

  private final ClusterSpec cluster;
  private final Executor threads;
  private final boolean byGrpc;
  private final Map<String, LinkedWorker> peers = new ConcurrentHashMap<>();

  /** Those of sessions that named a cluster of their own, while they last. */
  private final Set<PropagatedPeers> propagated = ConcurrentHashMap.newKeySet();

  private WorkerPeer self;
  private LinkEndpoint endpoint;
  private Links links;

  /**
   * The tasks of {@code cluster}.
   *
   * @param byGrpc whether those that no link leads to are called by gRPC
   */
  public TaskPeers(ClusterSpec cluster, Executor threads, boolean byGrpc) {
    this.cluster = cluster;
    this.threads = threads;
    this.byGrpc = byGrpc;
  }

  /** The task of this process, which is called directly. */
  public void setSelf(WorkerPeer worker) {
    self = worker;
  }

  /** The task's links, which are used to the tasks that have them. */
  public void setLinks(LinkEndpoint ofTask) {
    endpoint = ofTask;
    links = ofTask.links();
    if (!byGrpc) {
      return;
    }
    links.every(
        CHECK,
        () -> {
          peers.values().forEach(p -> p.byGrpc().checkAlive(PATIENCE, links::heldUpSince));
          propagated.forEach(p -> p.checkAlive(PATIENCE, links::heldUpSince));
        });
  }

  /** The tasks of a cluster that a session has named, until they are closed. */
  public WorkerPeers propagated(ClusterSpec named) {
    if (!byGrpc) {
      throw MillraceException.failedPrecondition(
          "This task has links only: a session cannot bring a cluster of its own.");
    }
    checkAddresses(named);
    PropagatedPeers p = new PropagatedPeers(named, threads, propagated::remove);
    propagated.add(p);
    return p;
  }

  /** A client must not make this process connect to any address it likes. */
  private void checkAddresses(ClusterSpec named) {
    if (Context.current().config().get(ClusterSettings.INSECURE)) {
      return;
    }
    Set<String> own = cluster.tasks().stream().map(cluster::address).collect(Collectors.toSet());
    for (TaskId t : named.tasks()) {
      String address = named.address(t);
      String host = address.substring(0, Math.max(0, address.lastIndexOf(':')));
      if (!own.contains(address) && !isLoopback(host)) {
        throw new MillraceException(
            Code.PERMISSION_DENIED,
            "The session names "
                + t
                + " at "
                + address
                + ", which is no task of this server's cluster. Start the server with --insecure to"
                + " let sessions bring clusters of other hosts.");
      }
    }
  }

  private static boolean isLoopback(String host) {
    try {
      return InetAddress.getByName(host).isLoopbackAddress();
    } catch (UnknownHostException e) {
      return false;
    }
  }

  @Override
  public PushChannel outlet(String taskName) {
    return links.to(taskName);
  }

  @Override
  public WorkerPeer peer(String taskName) {
    return self != null && self.name().equals(taskName) ? self : other(taskName);
  }

  @Override
  public CompletableFuture<?> probe(String taskName, Duration timeout) {
    return other(taskName).probe(timeout);
  }

  private LinkedWorker other(String taskName) {
    return peers.computeIfAbsent(
        taskName,
        n -> {
          DeviceSpec d = DeviceSpec.parse(n);
          String address = cluster.address(new TaskId(d.job(), d.task()));
          GrpcWorker worker = byGrpc ? new GrpcWorker(n, address, channel(address, threads)) : null;
          return new LinkedWorker(n, address, endpoint, worker);
        });
  }

  /** A channel that takes messages of any size and tries again quickly. */
  static ManagedChannel channel(String address, Executor threads) {
    GrpcLog.quiet();
    return NettyChannelBuilder.forTarget("dns:///" + address)
        .usePlaintext()
        .executor(threads)
        .maxInboundMessageSize(Integer.MAX_VALUE)
        .flowControlWindow(4 << 20)
        .build();
  }

  @Override
  public void close() {
    if (!byGrpc) {
      return;
    }
    peers.values().forEach(p -> p.byGrpc().shutdown());
    for (LinkedWorker p : peers.values()) {
      p.byGrpc().awaitTermination(2, TimeUnit.SECONDS);
    }
  }
}
