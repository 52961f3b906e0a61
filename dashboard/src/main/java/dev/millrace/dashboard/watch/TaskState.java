package dev.millrace.dashboard.watch;

import dev.millrace.dashboard.verdict.TaskFigures;
import dev.millrace.proto.TaskFacts;
import java.util.Map;

/**
 * A task at one moment.
 *
 * @param address where it listens
 * @param facts its last answer; null if it never gave one, as a task of TensorFlow
 * @param answerMillis how long that took
 * @param clockAheadMillis how far its clock is ahead of the watcher's
 * @param starts how often its process was seen to start
 * @param sent bytes a second to other tasks, by their names, lately
 * @param figures for the verdict
 */
public record TaskState(
    String address,
    TaskFacts facts,
    double answerMillis,
    double clockAheadMillis,
    int starts,
    Map<String, Double> sent,
    TaskFigures figures) {
  /** Such as {@code worker/1}. */
  public String name() {
    return figures.name();
  }

  /** A gauge of the task; NaN if it does not have it. */
  public double gauge(String name) {
    return facts == null ? Double.NaN : facts.getGaugesMap().getOrDefault(name, Double.NaN);
  }

  /** What the task says under a name; empty if it does not. */
  public String note(String name) {
    return facts == null ? "" : facts.getNotesMap().getOrDefault(name, "");
  }
}
