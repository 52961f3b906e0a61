package dev.millrace.train.hook;

import dev.millrace.graph.Graph;
import dev.millrace.runtime.Session;

/**
 * Opens sessions on a graph, again and again as tasks are lost and come back: {@code
 * LocalSession::new}, or one on the master of a cluster.
 */
@FunctionalInterface
public interface SessionFactory {
  /** A new session. UNAVAILABLE, ABORTED and DEADLINE_EXCEEDED mean that it may work later. */
  Session open(Graph graph);
}
