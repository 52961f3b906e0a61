package dev.millrace.train.hook;

import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.runtime.RunOptions;
import dev.millrace.runtime.Session;
import java.util.List;

/** The step that hooks are called around. */
public final class SessionRunContext {
  private final Session session;
  private final List<Output> fetches;
  private final List<Node> targets;
  private final RunOptions options;
  private boolean stopRequested;

  public SessionRunContext(
      Session session, List<Output> fetches, List<Node> targets, RunOptions options) {
    this.session = session;
    this.fetches = fetches;
    this.targets = targets;
    this.options = options;
  }

  /** The session, for what a hook runs on its own. */
  public Session session() {
    return session;
  }

  /** Options with the step's timeout, for runs of a hook that may take as long as a step. */
  public RunOptions options() {
    return options;
  }

  /** What the caller of the step asked for. */
  public List<Output> fetches() {
    return fetches;
  }

  /** What the caller of the step runs for its effect. */
  public List<Node> targets() {
    return targets;
  }

  /** Makes this the last step. */
  public void requestStop() {
    stopRequested = true;
  }

  /** Whether a hook has made this the last step. */
  public boolean stopRequested() {
    return stopRequested;
  }
}
