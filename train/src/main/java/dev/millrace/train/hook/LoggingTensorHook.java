package dev.millrace.train.hook;

import dev.millrace.graph.Output;
import dev.millrace.train.session.SessionRunArgs;
import dev.millrace.train.session.SessionRunContext;
import dev.millrace.train.session.SessionRunHook;
import dev.millrace.train.session.SessionRunValues;
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

  /** Likewise, to {@code out}. */
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
