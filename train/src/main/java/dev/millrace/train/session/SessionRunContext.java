package dev.millrace.train.session;

import dev.millrace.graph.Output;
import dev.millrace.runtime.Session;
import java.util.List;

/** The step that hooks are called around. */
public final class SessionRunContext {
  private final Session session;
  private final List<Output> fetches;
  private boolean stopRequested;

  SessionRunContext(Session session, List<Output> fetches) {
    this.session = session;
    this.fetches = fetches;
  }

  /** The session, for what a hook runs on its own. */
  public Session session() {
    return session;
  }

  /** What the caller of the step asked for. */
  public List<Output> fetches() {
    return fetches;
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
