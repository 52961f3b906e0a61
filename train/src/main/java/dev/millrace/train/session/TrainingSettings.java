package dev.millrace.train.session;

import dev.millrace.base.MillraceException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * How a {@link MonitoredTrainingSession} trains.
 *
 * @param chief whether this task initialises, restores and saves the model
 * @param chiefName who does, for messages
 * @param folder where checkpoints and summaries go; null for none
 * @param saveEvery how often the chief saves; null for by steps only or never
 * @param saveEverySteps likewise in steps; 0 for by time only or never
 * @param summariesEverySteps how often the scaffold's summaries are written; 0 for never
 * @param logEverySteps how often the step rate is logged and written; 0 for never
 * @param maxWait how long to wait for other tasks when starting, and when one was lost
 * @param stepTimeout how long a step may take; null for as long as it takes, with a warning
 * @param stopGrace how long threads beside the steps have to end
 * @param hooks called around every step
 */
public record TrainingSettings(
    boolean chief,
    String chiefName,
    Path folder,
    Duration saveEvery,
    long saveEverySteps,
    long summariesEverySteps,
    long logEverySteps,
    Duration maxWait,
    Duration stepTimeout,
    Duration stopGrace,
    List<SessionRunHook> hooks) {
  /** The chief of a job without a folder. */
  public static final TrainingSettings DEFAULT =
      new TrainingSettings(
          true,
          "worker/0",
          null,
          Duration.ofMinutes(10),
          0,
          100,
          100,
          Duration.ofMinutes(10),
          null,
          Duration.ofSeconds(30),
          List.of());

  public TrainingSettings {
    hooks = List.copyOf(hooks);
    if (saveEverySteps < 0 || summariesEverySteps < 0 || logEverySteps < 0) {
      throw MillraceException.invalid(
          "Steps between saves (%d), summaries (%d) and log lines (%d) cannot be negative.",
          saveEverySteps, summariesEverySteps, logEverySteps);
    }
  }

  /** This task is the chief, or not. */
  public TrainingSettings withChief(boolean yes) {
    return new TrainingSettings(
        yes,
        chiefName,
        folder,
        saveEvery,
        saveEverySteps,
        summariesEverySteps,
        logEverySteps,
        maxWait,
        stepTimeout,
        stopGrace,
        hooks);
  }

  /** Checkpoints and summaries go to {@code path}. */
  public TrainingSettings withFolder(Path path) {
    return new TrainingSettings(
        chief,
        chiefName,
        path,
        saveEvery,
        saveEverySteps,
        summariesEverySteps,
        logEverySteps,
        maxWait,
        stepTimeout,
        stopGrace,
        hooks);
  }

  /** Saves each time this long has passed; null for never, but for the first and last step. */
  public TrainingSettings withSaveEvery(Duration time) {
    return new TrainingSettings(
        chief,
        chiefName,
        folder,
        time,
        0,
        summariesEverySteps,
        logEverySteps,
        maxWait,
        stepTimeout,
        stopGrace,
        hooks);
  }

  /** Saves each time this many steps were made. */
  public TrainingSettings withSaveEverySteps(long steps) {
    return new TrainingSettings(
        chief,
        chiefName,
        folder,
        null,
        steps,
        summariesEverySteps,
        logEverySteps,
        maxWait,
        stepTimeout,
        stopGrace,
        hooks);
  }

  /** Writes summaries each time this many steps were made; 0 for never. */
  public TrainingSettings withSummariesEverySteps(long steps) {
    return new TrainingSettings(
        chief,
        chiefName,
        folder,
        saveEvery,
        saveEverySteps,
        steps,
        logEverySteps,
        maxWait,
        stepTimeout,
        stopGrace,
        hooks);
  }

  /** Logs the step rate each time this many steps were made; 0 for never. */
  public TrainingSettings withLogEverySteps(long steps) {
    return new TrainingSettings(
        chief,
        chiefName,
        folder,
        saveEvery,
        saveEverySteps,
        summariesEverySteps,
        steps,
        maxWait,
        stepTimeout,
        stopGrace,
        hooks);
  }

  /** Waits this long for other tasks. */
  public TrainingSettings withMaxWait(Duration time) {
    return new TrainingSettings(
        chief,
        chiefName,
        folder,
        saveEvery,
        saveEverySteps,
        summariesEverySteps,
        logEverySteps,
        time,
        stepTimeout,
        stopGrace,
        hooks);
  }

  /** Ends a step that takes longer than this. */
  public TrainingSettings withStepTimeout(Duration time) {
    return new TrainingSettings(
        chief,
        chiefName,
        folder,
        saveEvery,
        saveEverySteps,
        summariesEverySteps,
        logEverySteps,
        maxWait,
        time,
        stopGrace,
        hooks);
  }

  /** Calls these hooks too. */
  public TrainingSettings withHooks(SessionRunHook... more) {
    List<SessionRunHook> all = new ArrayList<>(hooks);
    all.addAll(List.of(more));
    return new TrainingSettings(
        chief,
        chiefName,
        folder,
        saveEvery,
        saveEverySteps,
        summariesEverySteps,
        logEverySteps,
        maxWait,
        stepTimeout,
        stopGrace,
        all);
  }
}
