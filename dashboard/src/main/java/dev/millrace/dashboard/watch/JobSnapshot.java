package dev.millrace.dashboard.watch;

import dev.millrace.dashboard.verdict.JobVerdict;
import java.util.List;
import java.util.Objects;
import java.util.OptionalDouble;

/**
 * A job at one moment.
 *
 * @param epochMillis when, since 1970
 * @param tasks all of them, in the order of the cluster spec
 * @param verdict what slows it
 */
public record JobSnapshot(long epochMillis, List<TaskState> tasks, JobVerdict verdict) {
  /** A job that nobody has looked at yet. */
  public static final JobSnapshot NOTHING =
      new JobSnapshot(
          0,
          List.of(),
          new JobVerdict(
              JobVerdict.State.UNKNOWN,
              "",
              JobVerdict.Cause.NONE,
              0,
              "Not enough evidence: the tasks have not been asked yet.",
              List.of()));

  /** The largest value of a gauge among the tasks. */
  public OptionalDouble gauge(String name) {
    return tasks.stream().mapToDouble(t -> t.gauge(name)).filter(v -> !Double.isNaN(v)).max();
  }

  /** What the first task that says something under a name says; empty if none does. */
  public String note(String name) {
    return tasks.stream()
        .map(t -> t.note(name))
        .filter(Objects::nonNull)
        .filter(n -> !n.isEmpty())
        .findFirst()
        .orElse("");
  }
}
