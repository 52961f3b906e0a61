package dev.millrace.examples.mnist;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.base.config.ClusterSettings;
import dev.millrace.base.config.Config;
import dev.millrace.graph.Scope;
import dev.millrace.job.report.Progress;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.NoOp;
import dev.millrace.runtime.LocalSession;
import dev.millrace.storage.record.EventWriter;
import dev.millrace.train.checkpoint.CheckpointFolder;
import dev.millrace.train.checkpoint.Saver;
import dev.millrace.train.job.JobResultFile;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The evaluator of a job: outside of its cluster, it tests each checkpoint that appears in the
 * folder of the job, until that of the last step or the chief's {@link JobResultFile}. What it
 * finds goes to the folder {@code eval} in there, a run of its own in TensorBoard.
 */
final class MnistEvaluator {
  private static final Logger LOG = LoggerFactory.getLogger(MnistEvaluator.class);
  private static final Timers TIMERS = Timers.system();
  private static final Duration LOOK_EVERY = Duration.ofSeconds(1);
  private static final Duration SAY_EVERY = Duration.ofMinutes(2);

  /** Several times what passes between two saves: nobody is training any more, nor said so. */
  static final Duration PATIENCE = Config.ofProcess().get(ClusterSettings.EVALUATOR_PATIENCE);

  private final MnistTraining.Settings settings;
  private final Progress progress;
  private final Duration patience;
  private final MnistData test;

  /** What an earlier run in the folder left behind. */
  private final Optional<JobResultFile.Note> stale;

  MnistEvaluator(MnistTraining.Settings settings, Progress progress, Duration patience) {
    if (settings.logDir() == null) {
      throw MillraceException.invalid(
          "The evaluator tests the checkpoints of the job: name their folder with --log-dir.");
    }
    this.settings = settings;
    this.progress = progress;
    this.patience = patience;
    stale = JobResultFile.read(settings.logDir());
    test = MnistData.test(settings.dataDir());
  }

  /** Tests checkpoints as they come; returns the accuracy of the last one. */
  double follow() {
    Scope scope = Scope.of(StandardOps.newGraph());
    MnistModel model =
        MnistModel.build(scope, settings.network(), (s, loss, step) -> s.add(NoOp.OP));
    Saver saver = Saver.of(scope);
    try (LocalSession session = new LocalSession(scope.graph());
        EventWriter events = new EventWriter(settings.logDir().resolve("eval"))) {
      double accuracy = Double.NaN;
      long step = 0;
      for (Path seen = awaitNext(null); seen != null; seen = awaitNext(seen)) {
        if (!restored(saver, session, seen)) {
          continue;
        }
        step = model.stepOf(session);
        accuracy = model.accuracyOn(test, session);
        events.addScalar("accuracy", (float) accuracy, step);
        events.flush();
        progress.tested(step, accuracy);
        if (step >= settings.steps()) {
          return accuracy;
        }
      }
      if (Double.isNaN(accuracy)) {
        throw new MillraceException(
            Code.NOT_FOUND,
            "The job has ended and left no checkpoint in " + settings.logDir() + ".");
      }
      LOG.info("The job has ended at step {} of {}.", step, settings.steps());
      return accuracy;
    }
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
    long said = start;
    while (true) {
      // In this order: the note comes after the last checkpoint.
      Optional<JobResultFile.Note> note = JobResultFile.read(settings.logDir());
      Optional<Path> latest = CheckpointFolder.latest(settings.logDir());
      if (latest.isPresent() && !latest.get().equals(seen)) {
        return latest.get();
      }
      if (note.isPresent() && !note.equals(stale)) {
        MnistTraining.checkEndedWell(note.get().outcome());
        return null;
      }
      long now = TIMERS.now();
      if (now - start > patience.toNanos()) {
        throw new MillraceException(
            Code.DEADLINE_EXCEEDED,
            ("There was no new checkpoint in %s for %d minutes: the job was killed before its last"
                    + " step, or saves elsewhere. If it saves more rarely, set"
                    + " -Dmillrace.evaluator.patience.minutes.")
                .formatted(settings.logDir(), patience.toMinutes()));
      }
      if (now - said > SAY_EVERY.toNanos()) {
        LOG.info(
            "Waiting for the next checkpoint in {}, or the chief's note that the job is over.",
            settings.logDir());
        said = now;
      }
      TIMERS.park(this, LOOK_EVERY.toNanos());
    }
  }
}
