package dev.millrace.cluster.peer;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/** Finds the other tasks of the cluster by name. */
@FunctionalInterface
public interface WorkerPeers {
  /** The task called {@code /job:J/replica:0/task:T}; throws if the cluster has no such task. */
  WorkerPeer peer(String taskName);

  /** The way to push tensors to a task, or null where they must be asked for. */
  default PushChannel outlet(String taskName) {
    return null;
  }

  /** Completes when the task answers; fails if it does not within {@code timeout}. */
  default CompletableFuture<?> probe(String taskName, Duration timeout) {
    return peer(taskName).status(timeout);
  }

  /** Gives back the connections, where they belong to one session. */
  default void close() {}
}
