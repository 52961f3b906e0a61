package dev.millrace.job;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.base.config.ClusterSettings;
import dev.millrace.base.config.Config;
import dev.millrace.graph.Scope;
import dev.millrace.job.ending.StopSwitch;
import dev.millrace.job.flags.ProgramFlags;
import dev.millrace.job.report.BestModel;
import dev.millrace.job.report.Progress;
import dev.millrace.ops.StandardOps;
import dev.millrace.runtime.LocalSession;
import dev.millrace.runtime.RunOptions;
import dev.millrace.storage.record.EventWriter;
import dev.millrace.train.GlobalStep;
import dev.millrace.train.checkpoint.CheckpointFolder;
import dev.millrace.train.checkpoint.Saver;
import dev.millrace.train.data.Dataset;
import dev.millrace.train.job.JobResultFile;
import dev.millrace.train.variable.GraphVariable;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The evaluator of a job: outside of its cluster, it evaluates each checkpoint that appears in the
 * folder of the job, until that of the last step or the end of the job. What it finds goes to the
 * folder {@code eval} in there, a run of its own in TensorBoard: summaries, the result and, without
 * what the optimizer adds, the best model. A process that is told to stop ends at once, as it has
 * nothing to save.
 *
 * <p>Threading: one thread.
 */
final class CheckpointFollower {
  /** The folder of what was evaluated, in that of the job. */
  static final String FOLDER = "eval";

  private static final Logger LOG = LoggerFactory.getLogger(CheckpointFollower.class);
  private static final Timers TIMERS = Timers.system();
  private static final Duration LOOK_EVERY = Duration.ofSeconds(1);

  private final JobSpec job;
  private final ProgramFlags flags;
  private final TrainingPlan settings;
  private final Dataset data;
  private final StopSwitch stop;
  private final Progress progress;
  private final Duration patience = Config.ofProcess().get(ClusterSettings.EVALUATOR_PATIENCE);

  /** What an earlier run in the folder left behind. */
  private final Optional<JobResultFile.Note> stale;

  CheckpointFollower(
      JobSpec job,
      ProgramFlags flags,
      TrainingPlan settings,
      Dataset data,
      StopSwitch stop,
      Progress progress) {
    if (settings.folder() == null) {
      throw MillraceException.invalid(
          "The evaluator tests the checkpoints of the job: name their folder with --log-dir.");
    }
    if (data == null) {
      throw MillraceException.invalid(
          "The program has no data to evaluate on: give some with Job.evaluate.");
    }
    this.job = job;
    this.flags = flags;
    this.settings = settings;
    this.data = data;
    this.stop = stop;
    this.progress = progress;
    stale = JobResultFile.read(settings.folder());
  }

  /** Evaluates checkpoints as they come; returns the figures of the last one. */
  JobResult follow() {
    stop.onRaise(stop::nothingToSave);
    long start = TIMERS.now();
    Path own = settings.folder().resolve(FOLDER);
    Scope scope = Scope.of(StandardOps.newGraph());
    ModelGraph graph = ModelGraph.toEvaluate(job, scope, ModelGraph.inputsOf(data), flags);
    GraphVariable count = GlobalStep.of(scope);
    Evaluation evaluation = new Evaluation(graph, data, settings.batchSize());
    Saver saver = Saver.of(scope);
    BestModel best =
        job.best() == null ? null : new BestModel(job.best(), job.highest(), own, saver);
    Map<String, Double> metrics = Map.of();
    long step = 0;
    try (LocalSession session = new LocalSession(scope.graph());
        EventWriter events = new EventWriter(own)) {
      for (Path seen = awaitNext(null); seen != null; seen = awaitNext(seen)) {
        if (!restored(saver, session, seen)) {
          continue;
        }
        step = GlobalStep.now(session, count);
        metrics = evaluation.run(session, RunOptions.DEFAULT);
        long at = step;
        metrics.forEach((name, value) -> events.addScalar(name, value.floatValue(), at));
        events.flush();
        progress.evaluated(step, metrics);
        Map<String, Double> found = metrics;
        job.listeners().forEach(l -> l.evaluated(at, found));
        if (best != null) {
          best.offer(session, step, metrics);
        }
        // By epochs, only the job itself knows its last step.
        if (!settings.endsByEpochs() && step >= settings.steps()) {
          break;
        }
      }
    }
    if (metrics.isEmpty()) {
      throw new MillraceException(
          Code.NOT_FOUND, "The job has ended and left no checkpoint in " + settings.folder() + ".");
    }
    double seconds = (TIMERS.now() - start) / 1e9;
    JobResult result =
        new JobResult(
            job.name(),
            settings.mode().toString(),
            step,
            settings.steps(),
            metrics,
            seconds,
            settings.endsByEpochs() || step >= settings.steps()
                ? JobResult.Outcome.OK
                : JobResult.Outcome.EARLY);
    result.write(own);
    return result;
  }

  /** A checkpoint may be removed for newer ones while it is read. */
  private static boolean restored(Saver saver, LocalSession session, Path checkpoint) {
    try {
      saver.restore(session, checkpoint);
      return true;
    } catch (MillraceException e) {
      if (CheckpointFolder.isComplete(checkpoint) && e.code() != Code.DATA_LOSS) {
        throw e;
      }
      LOG.warn("Checkpoint {} is passed over: {}", checkpoint, e.getMessage());
      return false;
    }
  }

  /** The latest checkpoint, once it is another than {@code seen}; null if the job has ended. */
  private Path awaitNext(Path seen) {
    long start = TIMERS.now();
    while (true) {
      if (stop.isRaised()) {
        throw new MillraceException(
            Code.CANCELLED,
            "The evaluator was told to stop before the last checkpoint. Started again with the same"
                + " --log-dir it goes on with the newest.");
      }
      // In this order: the note comes after the last checkpoint.
      Optional<JobResultFile.Note> note = JobResultFile.read(settings.folder());
      Optional<Path> latest = CheckpointFolder.latest(settings.folder());
      if (latest.isPresent() && !latest.get().equals(seen)) {
        return latest.get();
      }
      if (note.isPresent() && !note.equals(stale)) {
        ParameterServer.checkEndedWell(note.get().outcome());
        return null;
      }
      if (TIMERS.now() - start > patience.toNanos()) {
        throw new MillraceException(
            Code.DEADLINE_EXCEEDED,
            ("There was no new checkpoint in %s for %d minutes: the job was killed before its last"
                    + " step, or saves elsewhere. If it saves more rarely, set"
                    + " -Dmillrace.evaluator.patience.minutes.")
                .formatted(settings.folder(), patience.toMinutes()));
      }
      TIMERS.park(this, LOOK_EVERY.toNanos());
    }
  }
}
