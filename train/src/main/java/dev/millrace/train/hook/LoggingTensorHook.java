package dev.millrace.train.hook;

import dev.millrace.graph.Output;
import java.util.List;
import java.util.SequencedMap;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Logs values, such as the loss, on schedule by this task's own steps. */
public final class LoggingTensorHook implements SessionRunHook {
  private static final Logger LOG = LoggerFactory.getLogger(LoggingTensorHook.class);

  private final SequencedMap<String, Output> values;
  private final Schedule schedule;
  private final Consumer<String> out;
  private long runs;
  private boolean asked;

  /** Logs each value under its name. */
  public LoggingTensorHook(SequencedMap<String, Output> values, Schedule schedule) {
    this(values, schedule, LOG::info);
  }

  /** Passes the values to {@code out} on {@code schedule}. */
  public LoggingTensorHook(
      SequencedMap<String, Output> values, Schedule schedule, Consumer<String> out) {
    this.values = values;
    this.schedule = schedule;
    this.out = out;
  }

  @Override
  public SessionRunArgs beforeRun(SessionRunContext context) {
    asked = schedule.isDue(runs);
    return asked
        ? SessionRunArgs.fetching(List.copyOf(values.sequencedValues()))
        : SessionRunArgs.NONE;
  }

  @Override
  public void afterRun(SessionRunContext context, SessionRunValues fetched) {
    if (asked) {
      out.accept(
          values.entrySet().stream()
              .map(e -> e.getKey() + " = " + fetched.value(e.getValue()))
              .collect(Collectors.joining(", ")));
      schedule.acted(runs);
    }
    runs++;
  }
}
