package dev.millrace.cluster.master;

import dev.millrace.cluster.peer.WorkerPeer;
import dev.millrace.runtime.plan.StepSignature;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/**
 * How a step of one signature runs: the parts registered with workers, and the rendezvous keys of
 * feeds and fetches in their order.
 *
 * @param collectiveKey under which masters with the same collectives agree on step ids; 0 if it has
 *     none
 * @param runs how often the step ran; counted only if a cost model is requested
 */
public record StepPlan(
    StepSignature signature,
    List<Part> parts,
    List<String> feedKeys,
    List<String> fetchKeys,
    long collectiveKey,
    AtomicLong runs) {
  /** One task's part; feeds and fetches go through the client's. */
  record Part(WorkerPeer worker, String graphHandle, boolean isClient) {}
}
