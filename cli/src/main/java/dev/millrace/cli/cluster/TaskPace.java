package dev.millrace.cli.cluster;

import dev.millrace.proto.TaskFacts;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;

/**
 * A task as it was after a while of watching it.
 *
 * @param answer its last answer
 * @param stepsPerSecond what its master ran meanwhile; NaN if the task does not tell
 */
record TaskPace(ClusterView.Answer answer, double stepsPerSecond) {
  /** Workers whose rates differ by less than this keep pace. */
  private static final double EVEN = 0.9;

  /** What became of the tasks that answered first {@code before} and then {@code after}. */
  static List<TaskPace> between(List<ClusterView.Answer> before, List<ClusterView.Answer> after) {
    List<TaskPace> paces = new ArrayList<>();
    for (int i = 0; i < after.size(); i++) {
      paces.add(new TaskPace(after.get(i), rate(before.get(i), after.get(i))));
    }
    return paces;
  }

  /** By the task's own clock and counter; a task that was started anew meanwhile has no rate. */
  private static double rate(ClusterView.Answer before, ClusterView.Answer after) {
    if (!before.hasFacts() || !after.hasFacts() || before.incarnation() != after.incarnation()) {
      return Double.NaN;
    }
    TaskFacts a = before.facts();
    TaskFacts b = after.facts();
    long micros = b.getClockMicros() - a.getClockMicros();
    return micros > 0 ? (b.getSteps() - a.getSteps()) * 1e6 / micros : Double.NaN;
  }

  /** How many updates of others its gradients missed on average; NaN if it does not tell. */
  double staleness() {
    return answer.hasFacts()
        ? answer.facts().getGaugesOrDefault("staleness", Double.NaN)
        : Double.NaN;
  }

  /** Whether it runs steps of its own, as the workers of a job do. */
  private boolean isWorking() {
    return !answer.task().job().equals("ps")
        && !Double.isNaN(stepsPerSecond)
        && answer.facts().getSessions() > 0;
  }

  /** The slowest of several workers; null if there are not several, or all keep pace. */
  static TaskPace slowest(List<TaskPace> tasks) {
    List<TaskPace> working =
        tasks.stream()
            .filter(TaskPace::isWorking)
            .sorted(Comparator.comparingDouble(TaskPace::stepsPerSecond))
            .toList();
    return working.size() < 2
            || working.getFirst().stepsPerSecond > EVEN * working.getLast().stepsPerSecond
            || working.getLast().stepsPerSecond == 0
        ? null
        : working.getFirst();
  }

  /** A figure as a cell of a table, "-" for one that is not known. */
  static String cell(double value, String format) {
    return Double.isNaN(value) ? "-" : String.format(Locale.ROOT, format, value);
  }
}
