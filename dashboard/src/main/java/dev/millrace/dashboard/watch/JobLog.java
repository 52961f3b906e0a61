package dev.millrace.dashboard.watch;

import dev.millrace.base.Timers;
import dev.millrace.base.context.Context;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Locale;

/**
 * The last lines that the tasks of a job have printed, and what happened to the tasks.
 *
 * <p>Threading: any thread.
 */
public final class JobLog {
  private static final int LINES = 5000;
  private static final int EVENTS = 200;

  /** An event that comes this soon after a failure is taken for its echo. */
  private static final long ECHO_MILLIS = 10_000;

  /**
   * A line.
   *
   * @param number counts the lines of the job
   * @param task who printed it
   */
  public record Line(long number, long epochMillis, String task, String text) {
    /** Whether it looks like a warning or an error. */
    public boolean isWarning() {
      return text.contains(" WARN ")
          || text.contains(" ERROR ")
          || text.startsWith("WARN")
          || text.startsWith("ERROR")
          || text.startsWith("millrace: ")
          || text.contains("Exception");
    }
  }

  /**
   * Something that happened to a task.
   *
   * @param failure whether it failed, rather than came back
   * @param echo whether it is most likely a consequence of the failure before
   */
  public record Event(long epochMillis, String task, String text, boolean failure, boolean echo) {}

  private final Timers timers = Context.current().timers();
  private final Deque<Line> lines = new ArrayDeque<>();
  private final Deque<Event> events = new ArrayDeque<>();
  private long count;
  private long firstFailure = Long.MIN_VALUE / 2;

  /** A task has printed a line. */
  public synchronized void line(String task, String text) {
    // A terminal is cleared and coloured by sequences that mean nothing elsewhere.
    String plain = text.replaceAll("\u001b\\[[0-9;?]*[A-Za-z]", "");
    lines.add(new Line(++count, timers.wallTime().toEpochMilli(), task, plain));
    if (lines.size() > LINES) {
      lines.poll();
    }
  }

  /** Something happened to a task. */
  public synchronized void event(String task, String text, boolean failure) {
    long now = timers.wallTime().toEpochMilli();
    boolean echo = failure && now - firstFailure < ECHO_MILLIS;
    if (failure && !echo) {
      firstFailure = now;
    }
    events.add(new Event(now, task, text, failure, echo));
    if (events.size() > EVENTS) {
      events.poll();
    }
  }

  /** What happened so far, the oldest first. */
  public synchronized List<Event> events() {
    return List.copyOf(events);
  }

  /**
   * Lines after number {@code after}, the oldest first, at most the last {@code most}.
   *
   * @param task only those of this task; empty for all
   * @param text only those that contain this, in any case; empty for all
   */
  public synchronized List<Line> after(
      long after, String task, String text, boolean warnings, int most) {
    String wanted = text.toLowerCase(Locale.ROOT);
    Deque<Line> found = new ArrayDeque<>();
    for (Line l : lines) {
      if (l.number() > after
          && (task.isEmpty() || l.task().equals(task))
          && (!warnings || l.isWarning())
          && (wanted.isEmpty() || l.text().toLowerCase(Locale.ROOT).contains(wanted))) {
        found.add(l);
        if (found.size() > most) {
          found.poll();
        }
      }
    }
    return new ArrayList<>(found);
  }
}
