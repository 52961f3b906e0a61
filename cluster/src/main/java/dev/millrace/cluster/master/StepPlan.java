package dev.millrace.cluster.master;

import dev.millrace.cluster.worker.WorkerPeer;
import java.util.List;

/**
 * How a step of certain feeds, fetches and targets runs: the parts registered with workers, and the
 * rendezvous keys of feeds and fetches in their order.
 *
 * @param collectiveKey under which masters with the same collectives agree on step ids; 0 if it has
 *     none
 */
record StepPlan(
    List<Part> parts, List<String> feedKeys, List<String> fetchKeys, long collectiveKey) {
  /** One task's part; feeds and fetches go through the client's. */
  record Part(WorkerPeer worker, String graphHandle, boolean isClient) {}
}
