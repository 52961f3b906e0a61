package dev.millrace.train.session;

import dev.millrace.base.MillraceException;
import dev.millrace.base.Platform;
import dev.millrace.train.hook.SessionRunHook;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * How a {@link MonitoredTrainingSession} trains.
 *
 * @param chief whether this task initialises, restores and saves the model
 * @param chiefName who does, for messages
 * @param taskName this task, such as {@code worker/1}, whose own summaries go to a folder of that
 *     name, {@code worker_1}, in {@code folder}; null for none
 * @param folder where checkpoints and summaries go; null for none
 * @param saveEvery how often the chief saves; null for by steps only or never
 * @param saveEverySteps likewise in steps; 0 for by time only or never
 * @param summariesEverySteps how often the scaffold's summaries are written; 0 for never
 * @param logEverySteps how often the step rate is logged and written; 0 for never
 * @param maxWait how long to wait for other tasks when starting, and when one was lost
 * @param stepTimeout how long a step may take, waiting for other tasks included; null for no limit
 * @param stopGrace how long threads beside the steps have to end
 * @param recovers whether training resumes once a lost task is back; if not, a loss ends it
 * @param savesOnTermination whether SIGTERM ends training with a save, see {@link
 *     #withSavesOnTermination}
 * @param hooks called around every step
 * @param platform the threads and the clock of training
 */
public record TrainingSettings(
    boolean chief,
    String chiefName,
    String taskName,
    Path folder,
    Duration saveEvery,
    long saveEverySteps,
    long summariesEverySteps,
    long logEverySteps,
    Duration maxWait,
    Duration stepTimeout,
    Duration stopGrace,
    boolean recovers,
    boolean savesOnTermination,
    List<SessionRunHook> hooks,
    Platform platform) {
  /** The chief of a job without a folder. */
  public static final TrainingSettings DEFAULT =
      new TrainingSettings(
          true,
          "worker/0",
          null,
          null,
          Duration.ofMinutes(1),
          0,
          100,
          100,
          Duration.ofMinutes(10),
          Duration.ofMinutes(10),
          Duration.ofSeconds(30),
          true,
          true,
          List.of(),
          Platform.system());

  public TrainingSettings {
    hooks = List.copyOf(hooks);
    if (saveEverySteps < 0 || summariesEverySteps < 0 || logEverySteps < 0) {
      throw MillraceException.invalid(
          "Steps between saves (%d), summaries (%d) and log lines (%d) cannot be negative.",
          saveEverySteps, summariesEverySteps, logEverySteps);
    }
  }

  /** Whether saves are scheduled, given a folder. */
  boolean savesAtAll() {
    return saveEvery != null || saveEverySteps > 0;
  }

  /** This task is the chief, or not. */
  public TrainingSettings withChief(boolean yes) {
    return with(d -> d.chief = yes);
  }

  /** Who is the chief, for messages of those who wait for it. */
  public TrainingSettings withChiefName(String name) {
    return with(d -> d.chiefName = name);
  }

  /** Writes what this task measures, its step rate and staleness, to a folder of its own. */
  public TrainingSettings withTaskName(String name) {
    return with(d -> d.taskName = name);
  }

  /** Checkpoints and summaries go to {@code path}. */
  public TrainingSettings withFolder(Path path) {
    return with(d -> d.folder = path);
  }

  /** Saves each time this long has passed; null for never, but for the first and last step. */
  public TrainingSettings withSaveEvery(Duration time) {
    return with(
        d -> {
          d.saveEvery = time;
          d.saveEverySteps = 0;
        });
  }

  /** Saves each time this many steps were made. */
  public TrainingSettings withSaveEverySteps(long steps) {
    return with(
        d -> {
          d.saveEvery = null;
          d.saveEverySteps = steps;
        });
  }

  /** Writes summaries each time this many steps were made; 0 for never. */
  public TrainingSettings withSummariesEverySteps(long steps) {
    return with(d -> d.summariesEverySteps = steps);
  }

  /** Logs the step rate each time this many steps were made; 0 for never. */
  public TrainingSettings withLogEverySteps(long steps) {
    return with(d -> d.logEverySteps = steps);
  }

  /** Waits this long for other tasks. */
  public TrainingSettings withMaxWait(Duration time) {
    return with(d -> d.maxWait = time);
  }

  /**
   * Fails training if a step takes longer than this. Waits count, such as for the gradients of
   * other workers. 10 minutes by default; null for no limit.
   */
  public TrainingSettings withStepTimeout(Duration time) {
    return with(d -> d.stepTimeout = time);
  }

  /**
   * Whether training waits for a lost task to come back, which is the default. Without recovery the
   * first loss ends training: a rank, for example, cannot rejoin its ring.
   */
  public TrainingSettings withRecovery(boolean yes) {
    return with(d -> d.recovers = yes);
  }

  /**
   * Whether SIGTERM asks all workers of the job to stop after their step. The chief saves, then the
   * process exits with code 143; a second SIGTERM ends it at once. The default, unless the program
   * has installed a {@link dev.millrace.train.job.Termination}.
   */
  public TrainingSettings withSavesOnTermination(boolean yes) {
    return with(d -> d.savesOnTermination = yes);
  }

  /** Calls these hooks too. */
  public TrainingSettings withHooks(SessionRunHook... more) {
    return with(d -> d.hooks = Stream.concat(hooks.stream(), Stream.of(more)).toList());
  }

  /** Adds a hook before all others. */
  public TrainingSettings withFirstHook(SessionRunHook hook) {
    return with(d -> d.hooks = Stream.concat(Stream.of(hook), hooks.stream()).toList());
  }

  /** Trains with the threads and by the clock of another platform, such as a simulated one. */
  public TrainingSettings withPlatform(Platform other) {
    return with(d -> d.platform = other);
  }

  private TrainingSettings with(Consumer<Draft> change) {
    Draft draft = new Draft(this);
    change.accept(draft);
    return draft.settings();
  }

  /** Settings while one of them is changed. */
  private static final class Draft {
    private boolean chief;
    private Path folder;
    private Duration saveEvery;
    private long saveEverySteps;
    private long summariesEverySteps;
    private long logEverySteps;
    private Duration maxWait;
    private Duration stepTimeout;
    private List<SessionRunHook> hooks;
    private String chiefName;
    private String taskName;
    private final Duration stopGrace;
    private boolean recovers;
    private boolean savesOnTermination;
    private Platform platform;

    Draft(TrainingSettings s) {
      chief = s.chief;
      chiefName = s.chiefName;
      taskName = s.taskName;
      folder = s.folder;
      saveEvery = s.saveEvery;
      saveEverySteps = s.saveEverySteps;
      summariesEverySteps = s.summariesEverySteps;
      logEverySteps = s.logEverySteps;
      maxWait = s.maxWait;
      stepTimeout = s.stepTimeout;
      stopGrace = s.stopGrace;
      recovers = s.recovers;
      savesOnTermination = s.savesOnTermination;
      hooks = s.hooks;
      platform = s.platform;
    }

    TrainingSettings settings() {
      return new TrainingSettings(
          chief,
          chiefName,
          taskName,
          folder,
          saveEvery,
          saveEverySteps,
          summariesEverySteps,
          logEverySteps,
          maxWait,
          stepTimeout,
          stopGrace,
          recovers,
          savesOnTermination,
          hooks,
          platform);
    }
  }
}
