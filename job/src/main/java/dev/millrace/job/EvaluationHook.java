package dev.millrace.job;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Scope;
import dev.millrace.job.ending.TaskEnding;
import dev.millrace.job.report.BestModel;
import dev.millrace.job.report.ModelExport;
import dev.millrace.job.report.Progress;
import dev.millrace.runtime.RunOptions;
import dev.millrace.runtime.Session;
import dev.millrace.storage.record.EventWriter;
import dev.millrace.train.GlobalStep;
import dev.millrace.train.checkpoint.Saver;
import dev.millrace.train.hook.Coordinator;
import dev.millrace.train.hook.SessionRunArgs;
import dev.millrace.train.hook.SessionRunContext;
import dev.millrace.train.hook.SessionRunHook;
import dev.millrace.train.hook.SessionRunValues;
import dev.millrace.train.variable.GraphVariable;
import java.util.Map;

/**
 * Evaluates the model beside the steps of the chief, each time some were made and at the end. The
 * figures go to the folder {@code eval} of the job. The best model is kept in its folder {@code
 * best}.
 *
 * <p>Threading: used by the thread of the steps.
 */
final class EvaluationHook implements SessionRunHook {
  private final JobSpec job;
  private final TrainingPlan settings;
  private final Scope scope;
  private final Evaluation evaluation;
  private final GraphVariable step;
  private final Progress progress;
  private final TaskEnding ending;

  /** Null if the model is not exported. */
  private final ModelExport export;

  /** Null if none is kept. */
  private BestModel best;

  private EventWriter events;
  private long evaluated;

  /** The step of the first session; -1 before it. */
  private long begun = -1;

  private Map<String, Double> last = Map.of();

  EvaluationHook(
      JobSpec job,
      TrainingPlan settings,
      Scope scope,
      Evaluation evaluation,
      GraphVariable step,
      Progress progress,
      TaskEnding ending,
      ModelExport export) {
    this.job = job;
    this.settings = settings;
    this.scope = scope;
    this.evaluation = evaluation;
    this.step = step;
    this.progress = progress;
    this.ending = ending;
    this.export = export;
  }

  @Override
  public void begin() {
    if (job.best() != null) {
      best = new BestModel(job.best(), job.highest(), settings.folder(), Saver.of(scope));
    }
    if (settings.folder() != null) {
      events = new EventWriter(settings.folder().resolve(CheckpointFollower.FOLDER));
    }
  }

  @Override
  public void afterCreateSession(Session session, Coordinator coordinator) {
    evaluated = GlobalStep.now(session, step);
    begun = begun < 0 ? evaluated : begun;
    last = Map.of();
  }

  @Override
  public SessionRunArgs beforeRun(SessionRunContext context) {
    return settings.evaluateEvery() == 0
        ? SessionRunArgs.NONE
        : SessionRunArgs.fetching(step.read());
  }

  @Override
  public void afterRun(SessionRunContext context, SessionRunValues values) {
    long every = settings.evaluateEvery();
    if (every > 0) {
      long now = values.value(step.read()).longValue();
      if (now / every > evaluated / every && now < settings.steps()) {
        evaluate(context.session(), now, context.options());
        if (settings.patience() > 0 && now - lastBetter() >= settings.patience()) {
          progress.say(
              "No better %s since step %d: training ends early, at step %d."
                  .formatted(job.best(), lastBetter(), now));
          ending.endEarly(context);
        }
      }
    }
  }

  /** The step of the best model, or where training began if there is none. */
  private long lastBetter() {
    return best.step() < 0 ? begun : best.step();
  }

  /** Evaluates the model that {@code session} has at {@code now}, unless that was done. */
  Map<String, Double> evaluate(Session session, long now, RunOptions options) {
    if (now == evaluated && !last.isEmpty()) {
      return last;
    }
    evaluated = now;
    last = evaluation.run(session, options);
    progress.evaluated(now, last);
    if (events != null) {
      last.forEach((name, value) -> events.addScalar(name, value.floatValue(), now));
      events.flush();
    }
    Map<String, Double> found = last;
    job.listeners().forEach(l -> l.evaluated(now, found));
    if (best != null) {
      best.offer(session, now, last);
      if (export != null && best.step() == now) {
        export.best(session, now);
      }
    }
    return last;
  }

  @Override
  public void end(Session session) {
    close();
  }

  @Override
  public void abandon(Session session, MillraceException cause) {
    close();
  }

  private void close() {
    if (events != null) {
      events.close();
    }
  }
}
