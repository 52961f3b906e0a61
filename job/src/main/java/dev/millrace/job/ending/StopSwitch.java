package dev.millrace.job.ending;

import dev.millrace.train.job.Termination;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * By which a process is told to end its part of a job with a save, such as on SIGTERM.
 *
 * <p>Threading: any thread.
 */
public final class StopSwitch {
  private final List<Runnable> listeners = new ArrayList<>();
  private final Runnable nothing;
  private final Runnable interrupts;
  private boolean raised;

  /** Null where no signal raises it. Written by the thread that makes this. */
  private Termination termination;

  /** A switch of a process that {@code nothing} ends where there is nothing to save. */
  public StopSwitch(Runnable nothing) {
    this(nothing, () -> {});
  }

  /** The same where {@code interrupts} has Ctrl-C raise it too. */
  public StopSwitch(Runnable nothing, Runnable interrupts) {
    this.nothing = nothing;
    this.interrupts = interrupts;
  }

  /** A switch that SIGTERM raises; the process then has {@code grace} to {@link #finished end}. */
  public static StopSwitch ofProcess(Duration grace) {
    Termination[] installed = new Termination[1];
    StopSwitch stop =
        new StopSwitch(
            () -> installed[0].finished(Termination.TERMINATED),
            () -> installed[0].alsoOnInterrupt());
    installed[0] = Termination.install(t -> stop.raise(), grace);
    stop.termination = installed[0];
    return stop;
  }

  /** Has Ctrl-C raise it too, where that is meant for the whole job. */
  public void heedInterrupts() {
    interrupts.run();
  }

  /** The process is done, and may exit with {@code code}. */
  public void finished(int code) {
    if (termination != null) {
      termination.finished(code);
    }
  }

  /** Says that nobody saves anything, so that nothing is waited for. */
  public void nothingToSave() {
    nothing.run();
  }

  /** Asks all to stop, those too that listen later. */
  public void raise() {
    List<Runnable> all;
    synchronized (this) {
      raised = true;
      all = List.copyOf(listeners);
    }
    all.forEach(Runnable::run);
  }

  /** Whether it was raised. */
  public synchronized boolean isRaised() {
    return raised;
  }

  /** Has {@code action} run when it is raised, at once if it is already. */
  public void onRaise(Runnable action) {
    synchronized (this) {
      listeners.add(action);
      if (!raised) {
        return;
      }
    }
    action.run();
  }
}
