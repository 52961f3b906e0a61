package dev.millrace.cluster.transport;

import dev.millrace.cluster.peer.WorkerPeer;
import dev.millrace.cluster.peer.WorkerPeers;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.graph.name.DeviceSpec;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import java.util.function.LongPredicate;

/**
 * The tasks of a cluster that a client has named for one session. All are reached by gRPC at the
 * addresses given, this process too: servers know their names in that cluster from the session
 * alone.
 *
 * <p>Threading: any thread.
 */
final class PropagatedPeers implements WorkerPeers {
  private final ClusterSpec cluster;
  private final Executor threads;
  private final Map<String, GrpcWorker> peers = new ConcurrentHashMap<>();
  private final Consumer<PropagatedPeers> onClose;

  /** {@code onClose} is told when the session has ended. */
  PropagatedPeers(ClusterSpec cluster, Executor threads, Consumer<PropagatedPeers> onClose) {
    this.cluster = cluster;
    this.threads = threads;
    this.onClose = onClose;
  }

  /** Asks the tasks with calls under way whether they are there; see {@link GrpcWorker}. */
  void checkAlive(Duration patience, LongPredicate heldUpSince) {
    peers.values().forEach(p -> p.checkAlive(patience, heldUpSince));
  }

  @Override
  public WorkerPeer peer(String taskName) {
    return peers.computeIfAbsent(
        taskName,
        n -> {
          DeviceSpec d = DeviceSpec.parse(n);
          String address = cluster.address(new TaskId(d.job(), d.task()));
          return new GrpcWorker(n, address, TaskPeers.channel(address, threads));
        });
  }

  @Override
  public void close() {
    onClose.accept(this);
    peers.values().forEach(GrpcWorker::shutdown);
    peers.clear();
  }
}
