package dev.millrace.ring;

import dev.millrace.graph.Node;
import dev.millrace.graph.Scope;
import dev.millrace.runtime.Session;
import dev.millrace.train.hook.Coordinator;
import dev.millrace.train.hook.SessionRunHook;

/**
 * Gives all ranks the variables of one of them whenever a session was made, initialised or
 * restored: see {@link VariableBroadcast}.
 */
public final class BroadcastVariablesHook implements SessionRunHook {
  private final Scope scope;
  private final int root;
  private Node broadcast;

  /** All global variables of the scope's graph come from rank {@code root}. */
  public BroadcastVariablesHook(Scope scope, int root) {
    this.scope = scope;
    this.root = root;
  }

  @Override
  public void begin() {
    broadcast = VariableBroadcast.of(scope, root);
  }

  @Override
  public void afterCreateSession(Session session, Coordinator coordinator) {
    session.run(broadcast);
  }
}
