package dev.millrace.job;

import java.util.ArrayList;
import java.util.List;

/**
 * By which a process is told to end its part of a job with a save, such as on SIGTERM.
 *
 * <p>Threading: any thread.
 */
final class StopSwitch {
  private final List<Runnable> listeners = new ArrayList<>();
  private final Runnable nothing;
  private boolean raised;

  /** A switch of a process that {@code nothing} ends where there is nothing to save. */
  StopSwitch(Runnable nothing) {
    this.nothing = nothing;
  }

  /** Says that nobody saves anything, so that nothing is waited for. */
  void nothingToSave() {
    nothing.run();
  }

  /** Asks all to stop, those too that listen later. */
  void raise() {
    List<Runnable> all;
    synchronized (this) {
      raised = true;
      all = List.copyOf(listeners);
    }
    all.forEach(Runnable::run);
  }

  /** Whether it was raised. */
  synchronized boolean isRaised() {
    return raised;
  }

  /** Has {@code action} run when it is raised, at once if it is already. */
  void onRaise(Runnable action) {
    synchronized (this) {
      listeners.add(action);
      if (!raised) {
        return;
      }
    }
    action.run();
  }
}
