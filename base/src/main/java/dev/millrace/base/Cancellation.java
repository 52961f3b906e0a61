package dev.millrace.base;

import java.util.ArrayList;
import java.util.List;

/**
 * A step's (or call's) word that it is over before its time. Work that waits registers what to do
 * when the word is given; the first cause given is the one everybody sees.
 *
 * <p>Threading: all methods may be called from any thread. Actions run on the thread that cancels,
 * outside any lock.
 */
public final class Cancellation {
  private final Runnable assurance;
  private MillraceException cause;
  private List<Runnable> actions = List.of();

  /** For work whose end whoever asked for it waits for, whatever happens. */
  public Cancellation() {
    this(null);
  }

  /**
   * For work that whoever asked for it may give up unheard.
   *
   * @param assurance returns while it is certain that the work has not been given up, waits where
   *     that is in doubt, and throws if it has been; null where there is no doubt
   */
  public Cancellation(Runnable assurance) {
    this.assurance = assurance;
  }

  /** A word to be given apart from this one, for work on behalf of the same. */
  public Cancellation apart() {
    return new Cancellation(assurance);
  }

  /**
   * To be called before a change that outlives the work: returns if whoever asked for it has
   * certainly not given it up, for it may ask again; throws otherwise. May wait.
   */
  public void assure() {
    if (assurance != null) {
      assurance.run();
    }
  }

  /** Whether {@link #cancel} has been called. */
  public synchronized boolean isCancelled() {
    return cause != null;
  }

  /** Why, or null while not cancelled. */
  public synchronized MillraceException cause() {
    return cause;
  }

  /** Throws the cause if cancelled. */
  public void check() {
    MillraceException c = cause();
    if (c != null) {
      throw c;
    }
  }

  /** Gives the word. Only the first call counts; returns whether this was it. */
  public boolean cancel(MillraceException why) {
    List<Runnable> toRun;
    synchronized (this) {
      if (cause != null) {
        return false;
      }
      cause = why;
      toRun = actions;
      actions = List.of();
    }
    for (Runnable r : toRun) {
      r.run();
    }
    return true;
  }

  /**
   * Runs {@code action} when cancelled, at once if that has happened already. The returned handle
   * takes the registration back; the action may still be running when it returns.
   */
  public Registration onCancel(Runnable action) {
    synchronized (this) {
      if (cause == null) {
        if (actions.isEmpty()) {
          actions = new ArrayList<>(4);
        }
        actions.add(action);
        return () -> remove(action);
      }
    }
    action.run();
    return () -> {};
  }

  private synchronized void remove(Runnable action) {
    if (!actions.isEmpty()) {
      actions.remove(action);
    }
  }

  /** A registered action that can be taken back. */
  @FunctionalInterface
  public interface Registration extends AutoCloseable {
    @Override
    void close();
  }
}
