package dev.millrace.train.hook;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Output;
import dev.millrace.proto.Summary;
import dev.millrace.runtime.Session;
import dev.millrace.storage.record.EventWriter;
import dev.millrace.train.variable.GraphVariable;
import java.util.List;

/** Writes summaries to an event file, on schedule. They are computed only when they are due. */
public final class SummarySaverHook implements SessionRunHook {
  private final GraphVariable step;
  private final Output summary;
  private final Schedule schedule;
  private final EventWriter events;
  private boolean asked;
  private long next;

  /** Writes what {@code summary}, a string of merged summaries, says. */
  public SummarySaverHook(
      GraphVariable globalStep, Output summary, Schedule schedule, EventWriter events) {
    this.step = globalStep;
    this.summary = summary;
    this.schedule = schedule;
    this.events = events;
  }

  @Override
  public SessionRunArgs beforeRun(SessionRunContext context) {
    asked = schedule.isDue(next);
    return SessionRunArgs.fetching(asked ? List.of(step.read(), summary) : List.of(step.read()));
  }

  @Override
  public void afterRun(SessionRunContext context, SessionRunValues values) {
    long now = values.value(step.read()).longValue() + 1;
    if (asked) {
      try {
        events.addSummary(Summary.parseFrom(values.value(summary).bytesAt(0)), now);
      } catch (InvalidProtocolBufferException e) {
        throw MillraceException.invalid(
            "'%s' does not give a summary: %s", summary.name(), e.getMessage());
      }
      schedule.acted(now);
    }
    next = now + 1;
  }

  @Override
  public void end(Session session) {
    events.flush();
  }
}
