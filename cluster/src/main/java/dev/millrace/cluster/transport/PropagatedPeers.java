package dev.millrace.cluster.transport;

import dev.millrace.cluster.ClusterSpec;
import dev.millrace.cluster.TaskId;
import dev.millrace.cluster.worker.Peers;
import dev.millrace.cluster.worker.WorkerPeer;
import dev.millrace.graph.DeviceSpec;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;

/**
 * The tasks of a cluster that a client has named for one session. All are reached by gRPC at the
 * addresses given, this process too: servers know their names in that cluster from the session
 * alone.
 *
 * <p>Threading: any thread.
 */
public final class PropagatedPeers implements Peers {
  private final ClusterSpec cluster;
  private final Executor threads;
  private final Map<String, GrpcWorker> peers = new ConcurrentHashMap<>();

  public PropagatedPeers(ClusterSpec cluster, Executor threads) {
    this.cluster = cluster;
    this.threads = threads;
  }

  @Override
  public WorkerPeer peer(String taskName) {
    return peers.computeIfAbsent(
        taskName,
        n -> {
          DeviceSpec d = DeviceSpec.parse(n);
          String address = cluster.address(new TaskId(d.job(), d.task()));
          return new GrpcWorker(n, address, GrpcPeers.channel(address, threads));
        });
  }

  @Override
  public void close() {
    peers.values().forEach(GrpcWorker::shutdown);
    peers.clear();
  }
}
