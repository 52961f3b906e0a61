package dev.millrace.cluster.peer;

import dev.millrace.base.Cancellation;
import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** What runs a part of a step for a master: a task in this process, or a way to another one. */
public interface StepPeer {
  /**
   * Runs a part of a step. The answer has the fetched values in the order of the keys, each with a
   * counted reference of the caller's.
   */
  CompletableFuture<List<Tensor>> runGraph(RunGraph call, Cancellation cancellation);

  /** Forgets what is left of a step. Nobody waits for it. */
  void cleanupStep(long stepId);
}
