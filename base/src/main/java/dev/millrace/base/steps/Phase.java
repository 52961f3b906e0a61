package dev.millrace.base.steps;

import java.util.List;
import java.util.Locale;

/** A part of a training step. The phases of a step add up to its time. */
public enum Phase {
  /** The next batch is prepared or awaited; also the time between two steps. */
  INPUT,
  /** A value of another task is awaited: the variables that the step reads. */
  PULL,
  /** Kernels run on this task. */
  COMPUTE,
  /** Gradients leave, and the task that applies them is awaited. */
  PUSH,
  /** A collective operation is awaited. */
  REDUCE,
  /** Other workers are awaited: a token, a bound of the staleness, a task that is lost. */
  WAIT,
  /** A checkpoint is written. */
  SAVE,
  /** Everything else, such as evaluation, summaries and the hooks of a program. */
  OTHER;

  /** All phases, in the order in which tables show them. */
  public static final List<Phase> ALL = List.of(values());

  /** The name in tables and JSON: {@code input}. */
  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** Whether a task in this phase waits for another task, so that it is not itself slow. */
  public boolean isWaiting() {
    return this == PULL || this == PUSH || this == REDUCE || this == WAIT;
  }
}
