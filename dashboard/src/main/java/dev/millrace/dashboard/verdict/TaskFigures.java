package dev.millrace.dashboard.verdict;

import dev.millrace.base.steps.Figure;
import dev.millrace.base.steps.Phase;
import dev.millrace.base.steps.StepHistory.Second;
import java.util.List;
import java.util.Map;

/**
 * A task as its watcher sees it.
 *
 * @param name such as {@code worker/1}
 * @param job the first part of the name; tasks of one job do like work
 * @param failure why it does not answer; null if it does
 * @param silentSeconds for how long it has not answered; 0 if it does
 * @param host where it runs; empty if it does not tell
 * @param processors how many it may use there
 * @param phase what its steps do now; empty between steps
 * @param phaseSeconds for how long
 * @param seconds its last minutes, the oldest first; empty for a task of TensorFlow
 * @param waits for what part of its time it has waited lately for other tasks, by their names
 */
public record TaskFigures(
    String name,
    String job,
    String failure,
    double silentSeconds,
    String host,
    int processors,
    String phase,
    double phaseSeconds,
    List<Second> seconds,
    Map<String, Double> waits) {

  /** Whether it answers. */
  public boolean isUp() {
    return failure == null;
  }

  /** Whether it trains: it has made steps of its own. */
  public boolean isTraining() {
    return seconds.stream().anyMatch(s -> s.get(Figure.STEPS) > 0);
  }

  /** Whether it runs parts of other tasks' steps and makes none: a parameter server. */
  public boolean isServer() {
    return !isTraining() && seconds.stream().anyMatch(s -> s.get(Figure.PARTS) > 0);
  }

  /** The sums of its figures from one second to another, both included. */
  public Span span(long from, long to) {
    long[] sums = new long[Figure.ALL.size()];
    int count = 0;
    for (Second s : seconds) {
      if (s.epochSecond() >= from && s.epochSecond() <= to) {
        count++;
        for (int i = 0; i < sums.length; i++) {
          sums[i] += s.values()[i];
        }
      }
    }
    return new Span(sums, count);
  }

  /**
   * Sums over some seconds.
   *
   * @param sums in the order of {@link Figure#ALL}
   * @param count how many seconds there were
   */
  public record Span(long[] sums, int count) {
    /** A sum. */
    public double get(Figure f) {
      return sums[f.ordinal()];
    }

    /** A sum by the second. */
    public double perSecond(Figure f) {
      return count == 0 ? 0 : get(f) / count;
    }

    /** The part of the time that a figure in nanoseconds takes. */
    public double share(Figure f) {
      double time = get(Figure.SAMPLED) > 0 ? get(Figure.SAMPLED) : count * 1e9;
      return time == 0 ? 0 : get(f) / time;
    }

    /** How many steps of its own ended. */
    public double steps() {
      return get(Figure.STEPS);
    }

    /** Milliseconds of a phase in a step. */
    public double millis(Phase p) {
      return steps() == 0 ? 0 : get(Figure.of(p)) / steps() / 1e6;
    }

    /** Milliseconds of a step. */
    public double millis() {
      return Phase.ALL.stream().mapToDouble(this::millis).sum();
    }

    /** Milliseconds of a step in which the task did not wait for others. */
    public double ownMillis() {
      return Phase.ALL.stream().filter(p -> !p.isWaiting()).mapToDouble(this::millis).sum();
    }

    /** Milliseconds of a part of another task's step. */
    public double partMillis() {
      return get(Figure.PARTS) == 0 ? 0 : get(Figure.PARTS_RUN) / get(Figure.PARTS) / 1e6;
    }
  }
}
