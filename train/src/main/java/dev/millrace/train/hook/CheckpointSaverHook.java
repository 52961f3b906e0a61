package dev.millrace.train.hook;

import dev.millrace.base.Code;
import dev.millrace.base.Gauges;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.base.context.Context;
import dev.millrace.base.steps.Phase;
import dev.millrace.proto.Event;
import dev.millrace.proto.SessionLog;
import dev.millrace.runtime.Session;
import dev.millrace.storage.record.EventWriter;
import dev.millrace.train.GlobalStep;
import dev.millrace.train.checkpoint.CheckpointFolder;
import dev.millrace.train.checkpoint.Saver;
import dev.millrace.train.variable.GraphVariable;
import java.nio.file.Path;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Saves at the beginning, on schedule, and at the end. Of several tasks only the chief has it.
 *
 * <p>A full or faulty disk does not end training at once: {@link #TOLERATED_FAILURES} scheduled
 * saves in a row may fail, each with a warning. The first and the last save must succeed.
 */
public final class CheckpointSaverHook implements SessionRunHook {
  /** What checkpoints are called unless told otherwise. */
  public static final String NAME = "model.ckpt";

  /** How many scheduled saves may fail in a row. */
  static final int TOLERATED_FAILURES = 3;

  private static final Logger LOG = LoggerFactory.getLogger(CheckpointSaverHook.class);

  private final GraphVariable step;
  private final Saver saver;
  private final Path prefix;
  private final Schedule schedule;
  private final EventWriter events;
  private final Consumer<Session> check;
  private Timers timers = Context.current().timers();
  private long saved = -1;

  /** When the last save ended, by {@link Timers#now}. */
  private long savedNanos;

  /** Saves that have failed since then. */
  private int failures;

  /** Saves to {@code prefix-STEP} and notes it in {@code events} unless null. */
  public CheckpointSaverHook(
      GraphVariable globalStep, Saver saver, Path prefix, Schedule schedule, EventWriter events) {
    this(globalStep, saver, prefix, schedule, events, s -> {});
  }

  /**
   * A hook that saves on {@code schedule} and then calls {@code check}. If that throws, the save is
   * undone and training ends.
   */
  public CheckpointSaverHook(
      GraphVariable globalStep,
      Saver saver,
      Path prefix,
      Schedule schedule,
      EventWriter events,
      Consumer<Session> check) {
    this.step = globalStep;
    this.saver = saver;
    this.prefix = prefix;
    this.schedule = schedule;
    this.events = events;
    this.check = check;
  }

  @Override
  public void afterCreateSession(Session session, Coordinator coordinator) {
    timers = coordinator.platform().timers();
    long now = GlobalStep.now(session, step);
    if (CheckpointFolder.isComplete(prefix.resolveSibling(prefix.getFileName() + "-" + now))) {
      // Restored from there.
      saved = now;
      savedNanos = timers.now();
      schedule.acted(now);
    } else {
      save(session);
    }
  }

  @Override
  public Phase phase() {
    return Phase.SAVE;
  }

  @Override
  public SessionRunArgs beforeRun(SessionRunContext context) {
    return SessionRunArgs.fetching(step.read());
  }

  @Override
  public void afterRun(SessionRunContext context, SessionRunValues values) {
    // What the step fetched may or may not have its own update in it.
    if (schedule.isDue(values.value(step.read()).longValue() + 1)
        && schedule.isDue(GlobalStep.now(context.session(), step))) {
      saveIfPossible(context.session());
    }
  }

  private void saveIfPossible(Session session) {
    try {
      save(session);
    } catch (MillraceException e) {
      boolean diskFailure = e.code() == Code.RESOURCE_EXHAUSTED || e.code() == Code.DATA_LOSS;
      if (!diskFailure || ++failures > TOLERATED_FAILURES) {
        throw e;
      }
      schedule.acted(GlobalStep.now(session, step));
      LOG.warn(
          "NOT SAVED: scheduled save failed, {} in a row; training fails at {}. The last checkpoint"
              + " is of step {}, {} s ago: {}",
          failures,
          TOLERATED_FAILURES + 1,
          saved,
          (timers.now() - savedNanos) / 1_000_000_000,
          e.getMessage());
    }
  }

  @Override
  public void end(Session session) {
    save(session);
  }

  /** Saves now, beside the schedule, unless the last save has this step. */
  public void save(Session session) {
    long now = GlobalStep.now(session, step);
    if (now == saved) {
      return;
    }
    long start = timers.now();
    Path checkpoint = saver.save(session, prefix, now, check);
    saved = now;
    savedNanos = timers.now();
    failures = 0;
    schedule.acted(now);
    double seconds = (savedNanos - start) / 1e9;
    double at = timers.wallTime().getEpochSecond();
    Gauges gauges = Context.current().gauges();
    gauges.show("saved_step", () -> now);
    gauges.show("saved_at", () -> at);
    gauges.show("save_seconds", () -> seconds);
    LOG.info("Saved {} in {} ms.", checkpoint, (timers.now() - start) / 1_000_000);
    if (events != null) {
      events.add(
          Event.newBuilder()
              .setStep(now)
              .setSessionLog(
                  SessionLog.newBuilder()
                      .setStatus(SessionLog.SessionStatus.CHECKPOINT)
                      .setCheckpointPath(checkpoint.toString()))
              .build());
    }
  }
}
