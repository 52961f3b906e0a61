package dev.millrace.base;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A step's (or call's) word that it is over before its time. Work that waits registers what to do
 * when the word is given; the first cause given is the one everybody sees.
 *
 * <p>Threading: all methods may be called from any thread. Actions run on the thread that cancels,
 * outside any lock.
 */
public final class Cancellation {
  private final @Nullable Runnable leaseCheck;
  private @Nullable MillraceException cause;
  private List<Runnable> actions = List.of();

  /** A cancellation for work without a lease: its caller waits until the work ends. */
  public Cancellation() {
    this(null);
  }

  /**
   * A cancellation for work under a lease: its caller may give the work up without saying so.
   *
   * @param leaseCheck returns while the lease holds, waits for its renewal once it has expired, and
   *     throws if it is lost; null for work without a lease
   */
  public Cancellation(@Nullable Runnable leaseCheck) {
    this.leaseCheck = leaseCheck;
  }

  /** A separate cancellation under the same lease. */
  public Cancellation withSameLease() {
    return new Cancellation(leaseCheck);
  }

  /**
   * Fences a change that outlives the work: returns while the lease holds, throws once it is lost.
   * Without this check a caller that has given up and retries could see its change applied twice.
   * May wait for the lease to be renewed.
   */
  public void checkLease() {
    if (leaseCheck != null) {
      leaseCheck.run();
    }
  }

  /** Whether {@link #cancel} has been called. */
  public synchronized boolean isCancelled() {
    return cause != null;
  }

  /** Why, or null while not cancelled. */
  public synchronized @Nullable MillraceException cause() {
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
