package dev.millrace.cluster.transport;

import dev.millrace.cluster.link.Links;
import dev.millrace.cluster.peer.PushChannel;
import dev.millrace.cluster.peer.WorkerPeer;
import dev.millrace.cluster.peer.WorkerPeers;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.graph.name.DeviceSpec;
import io.grpc.ManagedChannel;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;

/**
 * The other tasks of a cluster, each behind one channel that is opened when first needed.
 *
 * <p>Threading: any thread.
 */
public final class GrpcPeers implements WorkerPeers, AutoCloseable {
  private static final Duration CHECK = Duration.ofSeconds(1);

  /** How long a task may take to say that it is there. */
  static final Duration PATIENCE = Duration.ofSeconds(3);

  private final ClusterSpec cluster;
  private final Executor threads;
  private final Map<String, LinkedWorker> peers = new ConcurrentHashMap<>();

  /** Those of sessions that named a cluster of their own, while they last. */
  private final Set<PropagatedPeers> propagated = ConcurrentHashMap.newKeySet();

  private WorkerPeer self;
  private LinkEndpoint endpoint;
  private Links links;

  public GrpcPeers(ClusterSpec cluster, Executor threads) {
    this.cluster = cluster;
    this.threads = threads;
  }

  /** The task of this process, which is called directly. */
  public void setSelf(WorkerPeer worker) {
    self = worker;
  }

  /** The task's links, which are used to the tasks that have them. */
  public void setLinks(LinkEndpoint ofTask) {
    endpoint = ofTask;
    links = ofTask.links();
    links.every(
        CHECK,
        () -> {
          peers.values().forEach(p -> p.byGrpc().checkAlive(PATIENCE, links::heldUpSince));
          propagated.forEach(p -> p.checkAlive(PATIENCE, links::heldUpSince));
        });
  }

  /** The tasks of a cluster that a session has named, until they are closed. */
  public WorkerPeers propagated(ClusterSpec named) {
    PropagatedPeers p = new PropagatedPeers(named, threads, propagated::remove);
    propagated.add(p);
    return p;
  }

  @Override
  public PushChannel outlet(String taskName) {
    return links.to(taskName);
  }

  @Override
  public WorkerPeer peer(String taskName) {
    return self != null && self.name().equals(taskName) ? self : other(taskName);
  }

  /** Probes by gRPC: tasks that only check each other's liveness need no link. */
  @Override
  public CompletableFuture<?> probe(String taskName, Duration timeout) {
    return other(taskName).byGrpc().status(timeout);
  }

  private LinkedWorker other(String taskName) {
    return peers.computeIfAbsent(
        taskName,
        n -> {
          DeviceSpec d = DeviceSpec.parse(n);
          String address = cluster.address(new TaskId(d.job(), d.task()));
          return new LinkedWorker(new GrpcWorker(n, address, channel(address, threads)), endpoint);
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
    peers.values().forEach(p -> p.byGrpc().shutdown());
    for (LinkedWorker p : peers.values()) {
      p.byGrpc().awaitTermination(2, TimeUnit.SECONDS);
    }
  }
}
