package dev.millrace.base.steps;

import dev.millrace.base.Timers;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Divides the time of one step after the other into phases. At any moment of a step one phase runs;
 * code that begins to wait enters another, and goes back when it is done. A clock is reused, so a
 * step allocates nothing.
 *
 * <p>Threading: the thread of the step; {@link #phase} and {@link #since} any.
 */
public final class StepClock {
  private static final ScopedValue<StepClock> CURRENT = ScopedValue.newInstance();

  private final Timers timers;
  private final StepHistory history;
  private final ScopedValue.Carrier binding = ScopedValue.where(CURRENT, this);
  private final long[] nanos = new long[Phase.ALL.size()];

  /** The tasks that this step has waited for, and how long. */
  private String[] peers = new String[4];

  private long[] peerNanos = new long[4];
  private int peerCount;

  /** Whom the running phase waits for; null for nobody. */
  private @Nullable String peer;

  private Phase phase = Phase.OTHER;

  /** When the running phase began; 0 between steps. Written last, for readers of both. */
  private volatile long mark;

  private long begun;
  private long ended;
  private long examples;

  /** How often {@link #hold} was called and not released: nested phases count as the held one. */
  private int held;

  private final int number;

  /** The id of the step; 0 until it is known. */
  private long step;

  /** Whether it measures a part of another task's step. */
  private boolean part;

  StepClock(Timers timers, StepHistory history, int number) {
    this.number = number;
    this.timers = timers;
    this.history = history;
  }

  /** The clock of the step that the calling thread makes; null outside of a step. */
  public static @Nullable StepClock current() {
    return CURRENT.isBound() ? CURRENT.get() : null;
  }

  /** Runs {@code body} with this clock as {@link #current}. */
  public <R, X extends Throwable> R call(ScopedValue.CallableOp<R, X> body) throws X {
    return binding.call(body);
  }

  /** Begins a step. What passed since the last one counts as input. */
  public void begin() {
    Arrays.fill(nanos, 0);
    peerCount = 0;
    examples = 0;
    step = 0;
    held = 0;
    peer = null;
    long now = timers.now();
    begun = ended == 0 ? now : ended;
    nanos[Phase.INPUT.ordinal()] = now - begun;
    phase = Phase.OTHER;
    mark = now;
  }

  /** Begins a part of another task's step, of which the time before says nothing. */
  void beginPart() {
    ended = 0;
    part = true;
    begin();
    phase = Phase.COMPUTE;
  }

  /** Ends the step and adds it to the history. */
  public void end() {
    stop();
    history.add(this);
  }

  /** Forgets a step that has not ended, since it failed. */
  public void abandon() {
    if (mark != 0) {
      stop();
    }
  }

  /** Ends a part of another task's step. */
  void stop() {
    ended = advance(Phase.OTHER, null);
    mark = 0;
  }

  /** Enters a phase; returns the one that ran. */
  public Phase enter(Phase next) {
    return enter(next, null);
  }

  /** Enters a phase in which the step waits for {@code task}; returns the one that ran. */
  public Phase enter(Phase next, @Nullable String task) {
    Phase before = phase;
    if (held == 0) {
      advance(next, task);
    }
    return before;
  }

  /** Enters a phase that lasts until {@link #release}, whatever is entered meanwhile. */
  public Phase hold(Phase next) {
    Phase before = enter(next, null);
    held++;
    return before;
  }

  /** Ends a {@link #hold}, and goes back to the phase that it returned. */
  public void release(Phase before) {
    held = Math.max(0, held - 1);
    enter(before, null);
  }

  private long advance(Phase next, @Nullable String task) {
    long now = timers.now();
    long spent = now - mark;
    nanos[phase.ordinal()] += spent;
    history.span(this, phase, mark, now);
    if (peer != null) {
      addPeer(peer, spent);
    }
    peer = task;
    phase = next;
    mark = now;
    return now;
  }

  private void addPeer(String task, long spent) {
    for (int i = 0; i < peerCount; i++) {
      if (peers[i].equals(task)) {
        peerNanos[i] += spent;
        return;
      }
    }
    if (peerCount == peers.length) {
      peers = Arrays.copyOf(peers, peerCount * 2);
      peerNanos = Arrays.copyOf(peerNanos, peerCount * 2);
    }
    peers[peerCount] = task;
    peerNanos[peerCount++] = spent;
  }

  /** Says which step it is; tasks that have parts of one step name the same. */
  public void step(long id) {
    step = id;
  }

  long step() {
    return step;
  }

  int number() {
    return number;
  }

  boolean isPart() {
    return part;
  }

  /** Says how many examples the step trains. */
  public void examples(long count) {
    examples = count;
  }

  /** The phase that runs now; only a guess for a thread other than that of the step. */
  public Phase phase() {
    return phase;
  }

  /** When that phase began, by the clock of the history; 0 between steps. */
  public long since() {
    return mark;
  }

  // ---- the step that has ended, for the history ----

  long begun() {
    return begun;
  }

  long ended() {
    return ended;
  }

  long examples() {
    return examples;
  }

  long nanos(Phase p) {
    return nanos[p.ordinal()];
  }

  int peerCount() {
    return peerCount;
  }

  String peer(int i) {
    return peers[i];
  }

  long peerNanos(int i) {
    return peerNanos[i];
  }
}
