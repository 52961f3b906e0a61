package dev.millrace.job;

import dev.millrace.base.Code;
import dev.millrace.base.Gauges;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.base.context.Context;
import dev.millrace.graph.Node;
import dev.millrace.graph.Scope;
import dev.millrace.job.ending.LastEpoch;
import dev.millrace.job.ending.StopSwitch;
import dev.millrace.job.ending.TaskEnding;
import dev.millrace.job.flags.ProgramFlags;
import dev.millrace.job.report.ModelExport;
import dev.millrace.job.report.Progress;
import dev.millrace.job.report.ProgressHook;
import dev.millrace.runtime.RunOptions;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.GlobalStep;
import dev.millrace.train.GraphSummaries;
import dev.millrace.train.data.Dataset;
import dev.millrace.train.graph.GroupNodes;
import dev.millrace.train.hook.SessionFactory;
import dev.millrace.train.hook.SessionRunHook;
import dev.millrace.train.hook.StopAtStepHook;
import dev.millrace.train.job.JobResultFile;
import dev.millrace.train.job.StopRequest;
import dev.millrace.train.job.WorkerRoster;
import dev.millrace.train.session.MonitoredTrainingSession;
import dev.millrace.train.session.TrainingSettings;
import dev.millrace.train.variable.GraphVariable;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One task of a job that trains: its graph, its hooks and its loop.
 *
 * <p>Threading: one thread; {@link #isStopped} may be asked by any.
 */
final class TrainingTask {
  private static final Logger LOG = LoggerFactory.getLogger(TrainingTask.class);
  private static final RunOptions LAST_STEP_LIMIT =
      RunOptions.DEFAULT.withTimeout(Duration.ofSeconds(5));

  /** How long the chief waits for the last steps of the others before it saves. */
  private static final Duration LAST_STEPS_LIMIT = Duration.ofSeconds(20);

  private final JobSpec job;
  private final TrainingPlan settings;
  private final Scope scope;
  private final int index;
  private final ModelGraph graph;
  private final GraphVariable step;
  private final Node train;
  private final List<SessionRunHook> hooks = new ArrayList<>();
  private final Progress progress;
  private final TaskEnding ending;

  private final DealtInput input;

  /** What belongs to the way the workers train together. */
  private final List<SessionRunHook> cooperation;

  /** Null on tasks that do not evaluate. */
  private final EvaluationHook evaluation;

  /** What a worker of parameter servers ends by; null in other modes. */
  private StopRequest request;

  private WorkerRoster roster;
  private LastEpoch lastEpoch;

  private volatile boolean stopped;

  /**
   * Builds the graph of worker {@code index} of {@code workers}.
   *
   * @param evaluation what the first worker evaluates on, or null
   * @param ring whether the workers are ranks
   * @param progress what shows the steps; null for nothing
   */
  TrainingTask(
      JobSpec job,
      ProgramFlags flags,
      TrainingPlan settings,
      Scope scope,
      int index,
      int workers,
      boolean ring,
      Cooperation.Around around,
      Dataset data,
      Dataset evaluation,
      StopSwitch stop,
      Progress progress) {
    this.job = job;
    this.settings = settings;
    this.scope = scope;
    this.index = index;
    this.progress = progress;
    this.ending = new TaskEnding(stop, ring);
    List<ModelGraph.Input> inputs = ModelGraph.inputsOf(data);
    graph = ModelGraph.toTrain(job, scope, inputs, flags);
    for (ModelMetric m : graph.model().metrics()) {
      if (m.mean()) {
        GraphSummaries.scalar(scope, m.name(), m.statistics());
      }
    }
    Gauges gauges = Context.current().gauges();
    gauges.note("job", job.name());
    gauges.note("mode", settings.mode().toString());
    gauges.show("batch", settings::batchSize);
    if (index == 0 && settings.folder() != null) {
      gauges.note("folder", settings.folder().toAbsolutePath().normalize().toString());
    }
    step = GlobalStep.of(scope);
    OptimizerContext context = new OptimizerContext(scope, step, settings.steps(), workers, flags);
    Cooperation together = around.of(job.optimizer().apply(context));
    Node minimize = together.minimizer().minimize(scope, graph.model().loss(), step);
    List<Node> all = new ArrayList<>(ModelGraph.updates(scope.graph()));
    all.add(minimize);
    train = all.size() == 1 ? minimize : GroupNodes.in(scope.withSubScope("step"), all);
    // A step that others must complete may fail after its gradients were sent: it trained nothing.
    Node noted = settings.mode() == Mode.SYNC ? train : null;
    input = new DealtInput(scope, data, graph, settings, index, workers, ring, noted, ending);
    hooks.add(input);
    cooperation = together.hooks().get();
    hooks.addAll(cooperation);
    if (!settings.endsByEpochs()) {
      hooks.add(StopAtStepHook.at(step, settings.steps()));
    }
    job.hooks().forEach(h -> hooks.add(h.apply(graph.model())));
    if (progress != null) {
      hooks.add(new ProgressHook(progress, graph.model().loss(), step.read()));
    }
    ModelExport export = null;
    ModelGraph evaluated = null;
    boolean exports = settings.folder() != null && !graph.model().predictions().isEmpty();
    if (index == 0 && (exports || evaluation != null)) {
      evaluated = ModelGraph.toEvaluate(job, scope, inputs, flags);
    }
    if (index == 0 && exports) {
      Model model = evaluated.model();
      export =
          new ModelExport(
              settings.folder(),
              evaluated.inputs(),
              model.servedInputs(),
              model.predictions(),
              step,
              this::isStopped);
      hooks.add(export);
    }
    this.evaluation =
        evaluation == null || index > 0
            ? null
            : new EvaluationHook(
                job,
                settings,
                scope,
                new Evaluation(evaluated, evaluation, settings.batchSize()),
                step,
                progress,
                ending,
                export);
    if (this.evaluation != null) {
      hooks.add(this.evaluation);
    }
  }

  /** Adds a hook. */
  void add(SessionRunHook hook) {
    hooks.add(hook);
  }

  /** Has this worker of {@code workers} on parameter servers end with the others. */
  void endWithOthers(StopRequest stopRequest, String device, int workers) {
    request = stopRequest;
    roster = new WorkerRoster(scope, device, index, workers, LAST_STEPS_LIMIT);
    lastEpoch =
        new LastEpoch(
            roster, request, step, index == 0, this::leave, TrainingSettings.DEFAULT.maxWait());
    hooks.add(request);
    hooks.add(roster);
  }

  /** Has the other workers not wait for steps of this one. */
  private void leave(Session session) {
    cooperation.forEach(h -> h.end(session));
  }

  /** Has the chief note at its end how that was, as {@code name}. */
  void writeEnd(String name) {
    if (index == 0 && settings.folder() != null) {
      hooks.add(new JobResultFile(settings.folder(), name, this::isStopped));
    }
  }

  /** The count of steps. */
  GraphVariable step() {
    return step;
  }

  /** Whether training ended because the job was told to stop. */
  boolean isStopped() {
    return stopped;
  }

  /** The usual settings with all hooks. */
  TrainingSettings settings() {
    return TrainingSettings.DEFAULT
        .withChief(index == 0)
        .withFolder(settings.folder())
        .withStepTimeout(settings.stepTimeout())
        .withSaveEvery(settings.saveEvery())
        .withSavesOnTermination(false)
        .withHooks(hooks.toArray(SessionRunHook[]::new));
  }

  /**
   * Trains; the first worker has the result, others null. Fails with CANCELLED if the job was told
   * to stop before its last step.
   *
   * @param told whether the job was told to stop, asked at the end; a chief that is done is none
   */
  JobResult train(SessionFactory sessions, TrainingSettings training, BooleanSupplier told) {
    try {
      return trained(sessions, training, told);
    } catch (MillraceException e) {
      // A session that was cancelled has failed; only a request to stop ends training well.
      throw e.code() == Code.CANCELLED && !stopped
          ? new MillraceException(Code.ABORTED, "Training was cancelled: " + e.getMessage(), e)
          : e;
    }
  }

  private JobResult trained(
      SessionFactory sessions, TrainingSettings training, BooleanSupplier told) {
    long start = Timers.system().now();
    JobResult result;
    try (MonitoredTrainingSession session =
        MonitoredTrainingSession.start(scope, sessions, training)) {
      if (settings.endsByEpochs() || GlobalStep.now(session.raw(), step) < settings.steps()) {
        loop(session);
      }
      stopped = told.getAsBoolean() && !isComplete(session);
      if (index == 0) {
        awaitLastSteps(session);
      }
      long now = index == 0 ? GlobalStep.now(session.raw(), step) : lastStep(session.raw());
      if (progress != null) {
        progress.end(now);
      }
      Map<String, Double> metrics =
          evaluation == null || stopped ? Map.of() : evaluated(session, now);
      double seconds = (Timers.system().now() - start) / 1e9;
      result =
          new JobResult(
              job.name(),
              settings.mode().toString(),
              now,
              settings.endsByEpochs() && !stopped && !ending.isEarly() ? now : settings.steps(),
              metrics,
              seconds,
              stopped
                  ? JobResult.Outcome.STOPPED
                  : ending.isEarly() ? JobResult.Outcome.EARLY : JobResult.Outcome.OK);
    }
    if (index > 0 && !stopped) {
      return null;
    }
    if (index == 0 && settings.folder() != null) {
      result.write(settings.folder());
    }
    if (stopped) {
      throw stopped();
    }
    return result;
  }

  /** Whether all steps of the job were made, so that a request to stop came too late. */
  private boolean isComplete(MonitoredTrainingSession session) {
    if (!settings.endsByEpochs()) {
      long now = index == 0 ? GlobalStep.now(session.raw(), step) : lastStep(session.raw());
      return now >= settings.steps();
    }
    return isIndependent() ? lastEpoch.isComplete() : input.isDone();
  }

  /** Whether the workers make their steps each at its own pace. */
  private boolean isIndependent() {
    return settings.mode() == Mode.ASYNC || settings.mode() == Mode.BOUNDED;
  }

  /** What is evaluated and saved must not change: all other workers make their last steps first. */
  private void awaitLastSteps(MonitoredTrainingSession session) {
    if (!isIndependent()) {
      return;
    }
    try {
      request.finish(session.raw());
      leave(session.raw());
      roster.awaitOthers(session.raw());
    } catch (RuntimeException e) {
      session.fail(MillraceException.of(e));
      throw e;
    }
  }

  /** The step that the job has reached. The parameter servers may be about to leave. */
  private long lastStep(Session session) {
    try (Tensor t =
        session.run(Map.of(), List.of(step.read()), List.of(), LAST_STEP_LIMIT).getFirst()) {
      return t.longValue();
    } catch (MillraceException e) {
      LOG.debug("The last step cannot be read: {}", e.getMessage());
      return settings.steps();
    }
  }

  private void step(MonitoredTrainingSession session) {
    if (!input.isDone()) {
      session.run(Map.of(), train);
    } else if (isIndependent()) {
      lastEpoch.look(session);
    } else {
      session.requestStop();
    }
  }

  /** After a loop of the program's own, which does not go on if the model goes back. */
  private void awaitOthers(MonitoredTrainingSession session) {
    while (!lastEpoch.isOver()) {
      lastEpoch.look(session);
      if (!input.isDone()) {
        throw new MillraceException(
            Code.ABORTED,
            "A parameter server was lost after the last step of this worker. Start it again: it"
                + " goes on where the model does.");
      }
    }
  }

  private Map<String, Double> evaluated(MonitoredTrainingSession session, long now) {
    try {
      return evaluation.evaluate(session.raw(), now, RunOptions.DEFAULT);
    } catch (RuntimeException e) {
      saveAfter(e, session);
      session.fail(MillraceException.of(e));
      throw e;
    }
  }

  /** All steps were made and are not to be made again because the evaluation has failed. */
  private static void saveAfter(RuntimeException failure, MonitoredTrainingSession session) {
    try {
      session.save();
    } catch (RuntimeException e) {
      failure.addSuppressed(e);
    }
  }

  private void loop(MonitoredTrainingSession session) {
    try {
      if (job.loop() != null) {
        job.loop().train(session, train, graph.model());
      } else {
        session.loop(this::step);
      }
      if (lastEpoch != null && input.isDone() && isIndependent()) {
        awaitOthers(session);
      }
    } catch (RuntimeException e) {
      MillraceException m = MillraceException.of(e);
      session.fail(m);
      throw m;
    }
  }

  /** What is said of a job that was told to stop. */
  static MillraceException stopped() {
    return new MillraceException(
        Code.CANCELLED,
        "The job was told to stop before its last step. Started again with the same --log-dir it"
            + " goes on from its checkpoint.");
  }
}
