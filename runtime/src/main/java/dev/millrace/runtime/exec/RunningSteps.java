package dev.millrace.runtime.exec;

import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;

/**
 * The steps under way in one place, such as a session, and their deadlines. A step that has long to
 * go costs no timer: while there are steps with a deadline, all are looked at once a second.
 *
 * <p>Threading: any thread. Deadlines pass on the thread of the timers.
 */
public final class RunningSteps {
  /** A step with less time than this has a timer of its own. */
  private static final long TIMED_NANOS = 10_000_000_000L;

  private static final long CHECK_NANOS = 1_000_000_000L;

  /** A step that can be ended from outside. */
  public interface Member {
    /** When the step must have ended, by {@link Timers#now}; 0 if it may take any time. */
    long deadlineNanos();

    /** The error of a step whose deadline has passed. */
    MillraceException overdue();

    /** Ends the step. */
    void fail(MillraceException cause);
  }

  /** A step under way; {@link #close} when it has ended. */
  public final class Registration implements AutoCloseable {
    private final Member step;
    private final Timers.Timer timer;

    private Registration(Member step, Timers.Timer timer) {
      this.step = step;
      this.timer = timer;
    }

    @Override
    public void close() {
      members.remove(step);
      if (timer != null) {
        timer.cancel();
      }
    }
  }

  private final Timers timers;
  private final Set<Member> members = ConcurrentHashMap.newKeySet();

  /** Whether the next look at the deadlines is scheduled. */
  private final AtomicBoolean checking = new AtomicBoolean();

  /** Steps whose deadlines pass by the clock {@code timers}. */
  public RunningSteps(Timers timers) {
    this.timers = timers;
  }

  /** When a step must have ended that starts now; {@code limitNanos} is 0 for no deadline. */
  public static long deadline(Timers timers, long limitNanos) {
    if (limitNanos == 0) {
      return 0;
    }
    long end = timers.now() + limitNanos;
    return end == 0 ? 1 : end;
  }

  /** Counts a step as under way and ends it when its deadline passes. */
  public Registration add(Member step) {
    members.add(step);
    long deadline = step.deadlineNanos();
    if (deadline == 0) {
      return new Registration(step, null);
    }
    long left = deadline - timers.now();
    if (left <= TIMED_NANOS) {
      return new Registration(step, timers.later(left, () -> step.fail(step.overdue())));
    }
    if (!checking.get()) {
      checkLater();
    }
    return new Registration(step, null);
  }

  private void checkLater() {
    if (checking.compareAndSet(false, true)) {
      timers.later(
          CHECK_NANOS,
          () -> {
            checking.set(false);
            if (checkDeadlines(timers.now())) {
              checkLater();
            }
          });
    }
  }

  /** Whether no step is under way. */
  public boolean isEmpty() {
    return members.isEmpty();
  }

  /** Ends all steps under way. */
  public void failAll(Supplier<MillraceException> cause) {
    members.forEach(s -> s.fail(cause.get()));
  }

  /** Ends the steps whose deadline has passed; returns whether any has a deadline to come. */
  boolean checkDeadlines(long nowNanos) {
    boolean any = false;
    for (Member s : members) {
      long deadline = s.deadlineNanos();
      if (deadline != 0 && nowNanos - deadline >= 0) {
        s.fail(s.overdue());
      } else {
        any |= deadline != 0;
      }
    }
    return any;
  }
}
