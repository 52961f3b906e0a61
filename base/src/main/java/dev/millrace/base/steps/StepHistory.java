package dev.millrace.base.steps;

import dev.millrace.base.Timers;
import dev.millrace.base.context.Context;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * The last ten minutes of a task, by the second: a circular array of numbers, so that a step adds
 * to a row and allocates nothing. Each context has one.
 *
 * <p>Threading: any thread. Steps hold the lock for some additions.
 */
public final class StepHistory {
  /** How many seconds are kept. */
  public static final int SECONDS = 600;

  private static final Context.Part<StepHistory> PART =
      Context.Part.of(c -> new StepHistory(c.timers()));
  private static final long SECOND = 1_000_000_000L;
  private static final int COLUMNS = Figure.ALL.size();
  private static final int IDLE_CLOCKS = 64;

  private final Timers timers;
  private final long start;

  /** The second in which this began, by the clock of the wall then. */
  private final long origin;

  /** The rows, one after the other. Guarded by this, as all below. */
  private final long[] rows = new long[SECONDS * COLUMNS];

  /** The latest second that has a row. */
  private long latest;

  /** Clocks of parts that have ended. */
  private final ArrayDeque<StepClock> idle = new ArrayDeque<>();

  /** Numbers the clocks. */
  private int clocks;

  /** Records single phases; null until somebody asks for that. */
  private volatile @Nullable SpanLog spans;

  private int inFlight;
  private @Nullable StepClock last;
  private final ConcurrentMap<String, LongAdder> waits = new ConcurrentHashMap<>();

  /** A history that begins now. */
  StepHistory(Timers timers) {
    this.timers = timers;
    this.start = timers.now();
    this.origin = timers.wallTime().getEpochSecond();
  }

  /** That of the calling thread's context. */
  public static StepHistory current() {
    return of(Context.current());
  }

  /** That of {@code context}. */
  public static StepHistory of(Context context) {
    return context.get(PART);
  }

  /** A clock for the steps of one thread. */
  public synchronized StepClock newClock() {
    last = new StepClock(timers, this, ++clocks);
    return last;
  }

  /** The row of the second that {@code now} is in; rows of seconds that passed are cleared. */
  private int row(long now) {
    long second = Math.max(0, now - start) / SECOND;
    if (second > latest) {
      long from = Math.max(latest + 1, second - SECONDS + 1);
      for (long s = from; s <= second; s++) {
        int at = (int) (s % SECONDS) * COLUMNS;
        Arrays.fill(rows, at, at + COLUMNS, 0);
      }
      latest = second;
    }
    return (int) (Math.max(second, latest - SECONDS + 1) % SECONDS) * COLUMNS;
  }

  /** A step has ended. */
  void add(StepClock step) {
    synchronized (this) {
      int row = row(step.ended());
      rows[row + Figure.STEPS.ordinal()]++;
      rows[row + Figure.EXAMPLES.ordinal()] += step.examples();
      for (int i = 0; i < Phase.ALL.size(); i++) {
        rows[row + Figure.INPUT.ordinal() + i] += step.nanos(Phase.ALL.get(i));
      }
      int longest = row + Figure.LONGEST.ordinal();
      rows[longest] = Math.max(rows[longest], step.ended() - step.begun());
    }
    addWaits(step);
    StepEvent.commit(step);
  }

  private void addWaits(StepClock step) {
    for (int i = 0; i < step.peerCount(); i++) {
      LongAdder known = waits.get(step.peer(i));
      if (known == null) {
        known = waits.computeIfAbsent(step.peer(i), _ -> new LongAdder());
      }
      known.add(step.peerNanos(i));
    }
  }

  /** Begins a part of a step of another task, on the calling thread. */
  public StepClock beginPart() {
    StepClock part;
    synchronized (this) {
      part = idle.poll();
      inFlight++;
      int queue = row(timers.now()) + Figure.QUEUE.ordinal();
      rows[queue] = Math.max(rows[queue], inFlight);
    }
    if (part == null) {
      part = newPart();
    }
    part.beginPart();
    return part;
  }

  private synchronized StepClock newPart() {
    return new StepClock(timers, this, ++clocks);
  }

  /** Ends a part; its clock is used again. */
  public void endPart(StepClock part) {
    part.stop();
    long run = part.nanos(Phase.COMPUTE) + part.nanos(Phase.OTHER) + part.nanos(Phase.SAVE);
    addWaits(part);
    synchronized (this) {
      inFlight--;
      int row = row(part.ended());
      rows[row + Figure.PARTS.ordinal()]++;
      rows[row + Figure.PARTS_RUN.ordinal()] += run;
      rows[row + Figure.PARTS_WAIT.ordinal()] += part.ended() - part.begun() - run;
      if (idle.size() < IDLE_CLOCKS) {
        idle.push(part);
      }
    }
  }

  /** Adds to a figure of the present second. */
  public synchronized void add(Figure figure, long amount) {
    rows[row(timers.now()) + figure.ordinal()] += amount;
  }

  /**
   * A phase of a step.
   *
   * @param epochNanos when it began, since 1970
   * @param step the id of the step, which is the same on all tasks; 0 if it has none
   * @param row the thread of steps; negative for a part of another task's step
   */
  public record Span(long epochNanos, long nanos, long step, int row, Phase phase) {}

  /** Records every phase of every step from now on, for {@code duration}. */
  public void record(Duration duration) {
    spans = new SpanLog(timers.now() + duration.toNanos());
  }

  /** What was recorded last; empty if nothing was. */
  public List<Span> recorded() {
    SpanLog log = spans;
    long offset = ChronoUnit.NANOS.between(Instant.EPOCH, timers.wallTime()) - timers.now();
    return log == null ? List.of() : log.spans(offset);
  }

  /** Adds a phase that has just ended, if phases are recorded. */
  void span(StepClock clock, Phase phase, long from, long now) {
    SpanLog log = spans;
    if (log != null && log.isOpen(from)) {
      log.add(clock, phase, from, now);
    }
  }

  /** A second of a task; {@code values} are in the order of {@link Figure#ALL}. */
  public record Second(long epochSecond, long[] values) {
    /** One of its values. */
    public long get(Figure figure) {
      return values[figure.ordinal()];
    }
  }

  /** The seconds after {@code epochSecond} that are over, the oldest first. */
  public List<Second> after(long epochSecond) {
    List<Second> found = new ArrayList<>();
    synchronized (this) {
      row(timers.now());
      long first = Math.max(Math.max(0, latest - SECONDS + 1), epochSecond - origin + 1);
      for (long s = first; s < latest; s++) {
        int at = (int) (s % SECONDS) * COLUMNS;
        found.add(new Second(origin + s, Arrays.copyOfRange(rows, at, at + COLUMNS)));
      }
    }
    return found;
  }

  /** How long steps have waited for other tasks, by the name of the task, in nanoseconds. */
  public SortedMap<String, Long> waits() {
    SortedMap<String, Long> now = new TreeMap<>();
    waits.forEach((task, nanos) -> now.put(task, nanos.sum()));
    return now;
  }

  /** What the thread of the steps does now; null before the first step and between steps. */
  public @Nullable Phase phase() {
    StepClock clock;
    synchronized (this) {
      clock = last;
    }
    return clock == null || clock.since() == 0 ? null : clock.phase();
  }

  /** For how long it has done that, in nanoseconds. */
  public long phaseNanos() {
    StepClock clock;
    synchronized (this) {
      clock = last;
    }
    long since = clock == null ? 0 : clock.since();
    return since == 0 ? 0 : timers.now() - since;
  }
}
