package dev.millrace.train.session;

import dev.millrace.base.Backoff;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.base.steps.Phase;
import dev.millrace.base.steps.StepClock;
import dev.millrace.base.steps.StepHistory;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.resource.StepIdentity;
import dev.millrace.runtime.RunOptions;
import dev.millrace.runtime.Session;
import dev.millrace.runtime.trace.StepTrace;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.GlobalStep;
import dev.millrace.train.checkpoint.CheckpointFolder;
import dev.millrace.train.hook.CheckpointSaverHook;
import dev.millrace.train.hook.Coordinator;
import dev.millrace.train.hook.SessionFactory;
import dev.millrace.train.hook.SessionRunArgs;
import dev.millrace.train.hook.SessionRunContext;
import dev.millrace.train.hook.SessionRunHook;
import dev.millrace.train.hook.SessionRunValues;
import dev.millrace.train.job.SaveOnTermination;
import dev.millrace.train.job.StopRequest;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Variables;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.SequencedSet;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A session that trains. The chief initialises the model or restores it from its folder, other
 * tasks wait until it has; hooks are called around every step; when a task is lost the session is
 * made anew, from the last checkpoint if variables were lost with it, and the step is run again.
 *
 * <pre>{@code
 * try (var session = MonitoredTrainingSession.start(scope, LocalSession::new, settings)) {
 *   session.loop(s -> s.run(Map.of(images, batch.images()), List.of(), List.of(train)));
 * }
 * }</pre>
 *
 * <p>Closing ends the hooks (the last save is one of them) unless a step failed. A failure that is
 * not a step's is reported by {@link #fail}; {@link #loop} does that.
 *
 * <p>SIGTERM ends training after the step under way on all workers of the job; once the session is
 * closed, with its last save, the process exits with code 143. See {@link
 * TrainingSettings#withSavesOnTermination}.
 *
 * <p>Threading: steps are run by one thread at a time; {@link #requestStop} and {@link #shouldStop}
 * may be called by any.
 */
public final class MonitoredTrainingSession implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(MonitoredTrainingSession.class);

  private static final RunOptions CHECK = RunOptions.DEFAULT.withTimeout(Duration.ofSeconds(5));
  private static final Duration FIRST_PAUSE = Duration.ofMillis(50);
  private static final Duration LONGEST_PAUSE = Duration.ofSeconds(5);

  private final TrainingSettings settings;
  private final UsualHooks usual;
  private final List<SessionRunHook> hooks;
  private final SessionStarter starter;
  private final ChiefLock lock;
  private final StepWatch watch;
  private final Readiness model;

  /** The SIGTERM handler; null if the program has its own. */
  private final SaveOnTermination termination;

  /** Measures the steps. */
  private final StepClock clock = StepHistory.current().newClock();

  private Session session;
  private Coordinator coordinator;
  private MillraceException failure;
  private boolean closed;
  private volatile boolean stopRequested;

  /** The thread that runs the steps. */
  private volatile Thread trainer = Thread.currentThread();

  /** The step under way, or the last one. Touched by {@link #trainer} only, as the attempts. */
  private StepIdentity step;

  /** How often the step was tried before. */
  private int attempts;

  /** Whether {@link #trainer} knows that training is to end: no step may follow. */
  private volatile boolean endKnown;

  /** Starts training with the usual scaffold. */
  public static MonitoredTrainingSession start(
      Scope scope, SessionFactory factory, TrainingSettings settings) {
    return start(scope, factory, settings, Scaffold.DEFAULT);
  }

  /**
   * Starts training: begins the hooks, completes the graph, and makes the first session. Returns
   * when the model is ready.
   */
  public static MonitoredTrainingSession start(
      Scope scope, SessionFactory factory, TrainingSettings givenSettings, Scaffold scaffold) {
    TrainingSettings settings =
        givenSettings.savesOnTermination() ? withStopRequest(scope, givenSettings) : givenSettings;
    ChiefLock lock = null;
    UsualHooks usual = null;
    MonitoredTrainingSession training;
    try {
      if (settings.chief() && settings.folder() != null) {
        lock = ChiefLock.take(settings.folder());
      }
      if (settings.chief() && settings.folder() == null && settings.savesAtAll()) {
        LOG.warn(
            "Training has no folder, so nothing is saved: the model is lost with its process. Set a"
                + " folder with TrainingSettings.withFolder or --log-dir.");
      }
      settings.hooks().forEach(SessionRunHook::begin);
      Scaffold complete = scaffold.completed(scope, settings.chief() && settings.folder() != null);
      usual = UsualHooks.of(scope.graph(), settings, complete);
      usual.hooks().forEach(SessionRunHook::begin);
      Readiness global = new Readiness(scope.withoutColocation(), Variables.global(scope.graph()));
      JobMarker mark =
          lock == null
              ? null
              : new JobMarker(scope, GlobalStep.find(scope.graph()).node(), lock.job());
      SessionStarter starter =
          new SessionStarter(
              scope.graph(),
              factory,
              complete,
              global,
              new SessionStarter.Task(
                  settings.chief(),
                  settings.chiefName(),
                  settings.folder(),
                  mark,
                  settings.maxWait(),
                  settings.recovers(),
                  settings.hooks(),
                  settings.platform()));
      List<QueueRunner> queues = QueueRunner.of(scope.graph());
      training = new MonitoredTrainingSession(settings, usual, mark, queues, starter, lock, global);
    } catch (RuntimeException e) {
      if (usual != null) {
        usual.close();
      }
      if (lock != null) {
        lock.close();
      }
      throw e;
    }
    try {
      training.create(true);
      if (training.termination != null) {
        training.termination.ready();
      }
      return training;
    } catch (RuntimeException e) {
      training.fail(MillraceException.of(e));
      training.close();
      throw e;
    }
  }

  /** Adds a stop request beside the global step, unless the program has one. */
  private static TrainingSettings withStopRequest(Scope scope, TrainingSettings settings) {
    if (settings.hooks().stream().anyMatch(StopRequest.class::isInstance)) {
      return settings;
    }
    GraphVariable step = GlobalStep.find(scope.graph());
    String device = step == null ? "" : step.node().device();
    return settings.withHooks(StopRequest.onDemand(scope, device, settings.chief()));
  }

  private MonitoredTrainingSession(
      TrainingSettings settings,
      UsualHooks usual,
      JobMarker mark,
      List<QueueRunner> queues,
      SessionStarter starter,
      ChiefLock lock,
      Readiness model) {
    this.settings = settings;
    this.usual = usual;
    // The usual ones last: what another hook refuses must not be saved.
    this.hooks = new ArrayList<>(settings.hooks());
    hooks.addAll(queues);
    hooks.addAll(usual.hooks());
    if (mark != null) {
      hooks.add(mark);
    }
    if (!settings.chief()) {
      hooks.add(new ChiefWatch(settings.chiefName(), settings.folder()));
    }
    hooks.sort(Comparator.comparing(SessionRunHook::isLast));
    this.starter = starter;
    this.lock = lock;
    this.watch = new StepWatch(hooks, settings.stepTimeout(), settings.platform().timers());
    this.model = model;
    this.step = StepIdentity.first(settings.platform().random());
    this.termination =
        settings.savesOnTermination() ? SaveOnTermination.of(this::requestStopOfAll) : null;
  }

  /** Asks all workers of the job to stop after their step; this one stops in any case. */
  private void requestStopOfAll() {
    requestStop();
    for (SessionRunHook hook : hooks) {
      if (hook instanceof StopRequest all) {
        all.raise();
      }
    }
  }

  /** Makes a session; again, for as long as may be waited, if a task is lost while hooks begin. */
  private void create(boolean first) {
    Timers timers = settings.platform().timers();
    long end = timers.now() + settings.maxWait().toNanos();
    Backoff backoff = new Backoff(settings.platform(), FIRST_PAUSE, LONGEST_PAUSE);
    boolean fresh = first;
    while (true) {
      if (lock != null) {
        // Of an earlier process, or of a save in the session that was lost.
        CheckpointFolder.removeLeftOvers(settings.folder());
      }
      session = fresh ? starter.first() : starter.again();
      coordinator = new Coordinator(settings.platform());
      fresh = false;
      try {
        begin();
        return;
      } catch (MillraceException closed) {
        closeSession();
        // A hook's thread that fails closes the session: its failure is the cause, not the closing.
        MillraceException e = coordinator.failure() == null ? closed : coordinator.failure();
        if (!settings.recovers() && isLoss(e)) {
          throw unrecoverable(e);
        }
        if (!SessionStarter.isPassing(e) || timers.now() - end > 0) {
          throw e;
        }
        LOG.warn("A task was lost while training began; once more: {}", e.getMessage());
        backoff.pause();
      }
    }
  }

  private void begin() {
    Session mine = session;
    Coordinator ours = coordinator;
    // A thread beside the steps failed: a step that waits for it must not wait for ever.
    ours.onStop(
        () -> {
          if (ours.failure() != null) {
            mine.close();
          }
        });
    hooks.forEach(h -> h.afterCreateSession(mine, ours));
    watch.watch(
        new StepWatch.Subject() {
          @Override
          public Map<String, String> silentTasks(Duration limit) {
            return mine.silentTasks(List.of(), limit);
          }

          @Override
          public void check() {
            checkModel(mine, ours);
          }
        });
  }

  /**
   * Ends a session whose variables are lost. Its step need not notice: one that waits for another
   * worker asks nothing of the task that held them.
   */
  private void checkModel(Session mine, Coordinator ours) {
    try {
      List<String> missing = model.missing(mine, CHECK);
      if (!missing.isEmpty()) {
        throw new MillraceException(
            Code.ABORTED, missing.size() + " variables have no value any more: " + missing);
      }
    } catch (MillraceException e) {
      if (isLoss(e)) {
        ours.requestStop(e);
      } else {
        LOG.debug("The variables could not be looked at: {}", e.getMessage());
      }
    }
  }

  /** Whether training is to end: a hook or a caller asked for it, or it failed. */
  public boolean shouldStop() {
    boolean stops = stopRequested || closed || failure != null;
    endKnown |= stops && Thread.currentThread() == trainer;
    return stops;
  }

  /** Asks training to end after the step under way. */
  public void requestStop() {
    stopRequested = true;
  }

  /** The session under the hooks, for runs that are not steps of training. */
  public Session raw() {
    return session;
  }

  /** Runs {@code step} until training is to end. Running out of data (OUT_OF_RANGE) is an end. */
  public void loop(Consumer<MonitoredTrainingSession> step) {
    while (!shouldStop()) {
      try {
        step.accept(this);
      } catch (RuntimeException e) {
        MillraceException cause = MillraceException.of(e);
        if (cause.code() != Code.OUT_OF_RANGE) {
          fail(cause);
          throw e;
        }
        LOG.info("Training ends: {}", cause.getMessage());
        requestStop();
      }
    }
  }

  /** Saves the model as it is, on a task that saves, unless the last save has this step. */
  public void save() {
    for (SessionRunHook hook : hooks) {
      if (hook instanceof CheckpointSaverHook saver) {
        saver.save(session);
      }
    }
  }

  /** Says that training failed outside of a step, so that closing does not save or end hooks. */
  public void fail(MillraceException cause) {
    if (failure == null) {
      failure = cause;
    }
  }

  /**
   * Runs a step with the hooks around it. Feeds are borrowed, the results are the caller's. Throws
   * FAILED_PRECONDITION once training is to end, and OUT_OF_RANGE when the data has ended. One step
   * still runs if another thread requested the stop while the caller prepared the step.
   */
  public List<Tensor> run(Map<Output, Tensor> feeds, List<Output> fetches, List<Node> targets) {
    trainer = Thread.currentThread();
    if (endKnown || closed || failure != null) {
      throw MillraceException.failedPrecondition(
          "A step was run after training ended%s. Ask shouldStop() before each step.",
          failure != null ? " by a failure: " + failure.getMessage() : "");
    }
    endKnown = stopRequested;
    step = step.next();
    attempts = 0;
    clock.begin();
    try {
      List<Tensor> results = clock.call(() -> recovering(() -> attempt(feeds, fetches, targets)));
      clock.end();
      return results;
    } finally {
      clock.abandon();
    }
  }

  /**
   * Runs {@code work} on the session, without the hooks of a step. After the loss of a task it runs
   * again in the new session, in which the model may be that of an earlier step.
   */
  public <T> T beside(Function<Session, T> work) {
    return recovering(() -> work.apply(session));
  }

  private <T> T recovering(Supplier<T> work) {
    watch.begin();
    Retries retries = null;
    try {
      while (true) {
        try {
          return work.get();
        } catch (MillraceException e) {
          MillraceException cause = coordinator.failure() != null ? coordinator.failure() : e;
          if (!isLoss(cause)) {
            throw cause.code() == Code.DEADLINE_EXCEEDED ? timedOut(cause) : cause;
          }
          if (!settings.recovers()) {
            throw unrecoverable(cause);
          }
          if (retries == null) {
            retries = new Retries(settings.maxWait(), settings.platform());
          } else {
            retries.failed(cause);
          }
          watch.end();
          recover(cause);
          retries.begin();
          watch.begin();
        }
      }
    } catch (RuntimeException e) {
      MillraceException cause = MillraceException.of(e);
      if (cause.code() == Code.OUT_OF_RANGE) {
        stopRequested = true;
        endKnown = true;
      } else {
        fail(cause);
      }
      throw e;
    } finally {
      watch.end();
    }
  }

  /** Runs a step for the effect of {@code targets}. */
  public void run(Map<Output, Tensor> feeds, Node... targets) {
    run(feeds, List.of(), List.of(targets));
  }

  /** Runs a step and returns one value. */
  public Tensor fetch(Output output, Map<Output, Tensor> feeds) {
    return run(feeds, List.of(output), List.of()).getFirst();
  }

  private static boolean isLoss(MillraceException e) {
    return e.code() == Code.UNAVAILABLE || e.code() == Code.ABORTED;
  }

  /** The error for a lost task in a job that cannot recover. */
  private static MillraceException unrecoverable(MillraceException cause) {
    return cause.withMessage(
        "Training ends: a task was lost and cannot rejoin. "
            + cause.getMessage()
            + " Start all tasks again; they resume from the last checkpoint, if one was saved.");
  }

  /** Adds the limit, and what the step waited for. */
  private MillraceException timedOut(MillraceException cause) {
    return settings.stepTimeout() == null
        ? cause
        : cause.withMessage(
            cause.getMessage()
                + " The step timeout is "
                + settings.stepTimeout().toSeconds()
                + " s (TrainingSettings.withStepTimeout, --step-timeout). "
                + watch.state());
  }

  private List<Tensor> attempt(
      Map<Output, Tensor> feeds, List<Output> fetches, List<Node> targets) {
    if (coordinator.failure() != null) {
      throw coordinator.failure();
    }
    RunOptions options =
        settings.stepTimeout() == null
            ? RunOptions.DEFAULT.withoutTimeout()
            : RunOptions.DEFAULT.withTimeout(settings.stepTimeout());
    SessionRunContext context = new SessionRunContext(session, fetches, targets, options);
    Map<Output, Tensor> allFeeds = new LinkedHashMap<>(feeds);
    SequencedSet<Output> extra = new LinkedHashSet<>();
    SequencedSet<Node> allTargets = new LinkedHashSet<>(targets);
    boolean traced = false;
    for (SessionRunHook hook : hooks) {
      SessionRunArgs args = before(hook, context);
      extra.addAll(args.fetches());
      allTargets.addAll(args.targets());
      traced |= args.traced();
      args.feeds().forEach((fed, value) -> put(allFeeds, fed, value));
    }
    fetches.forEach(extra::remove);
    List<Output> allFetches = new ArrayList<>(fetches);
    allFetches.addAll(extra);
    StepTrace trace = traced ? new StepTrace(settings.platform().timers()) : null;
    clock.enter(Phase.COMPUTE);
    List<Tensor> results =
        session.run(
            allFeeds,
            allFetches,
            List.copyOf(allTargets),
            // Not in the options that hooks see, who run more than this.
            options.withTrace(trace).withStepId(step.stepId(attempts++)));
    clock.enter(Phase.OTHER);
    List<Tensor> hooksOwn = results.subList(fetches.size(), results.size());
    try {
      Map<Output, Tensor> byOutput = new HashMap<>();
      for (int i = 0; i < results.size(); i++) {
        byOutput.put(allFetches.get(i), results.get(i));
      }
      SessionRunValues values = new SessionRunValues(byOutput, trace);
      for (SessionRunHook hook : hooks) {
        Phase before = clock.hold(hook.phase());
        try {
          hook.afterRun(context, values);
        } finally {
          clock.release(before);
        }
      }
    } catch (RuntimeException e) {
      results.subList(0, fetches.size()).forEach(Tensor::close);
      throw e;
    } finally {
      hooksOwn.forEach(Tensor::close);
    }
    if (context.stopRequested()) {
      stopRequested = true;
      endKnown = true;
    }
    return List.copyOf(results.subList(0, fetches.size()));
  }

  private SessionRunArgs before(SessionRunHook hook, SessionRunContext context) {
    Phase before = clock.hold(hook.phase() == Phase.OTHER ? Phase.INPUT : hook.phase());
    try {
      return hook.beforeRun(context);
    } finally {
      clock.release(before);
    }
  }

  private static void put(Map<Output, Tensor> feeds, Output fed, Tensor value) {
    if (feeds.putIfAbsent(fed, value) != null) {
      throw MillraceException.invalid("Two feeds were given for '%s' in one step.", fed.name());
    }
  }

  private void recover(MillraceException cause) {
    LOG.warn("A task was lost; opening a new session: {}", cause.getMessage());
    Phase before = clock.hold(Phase.WAIT);
    try {
      closeSession();
      create(false);
    } finally {
      clock.release(before);
    }
  }

  /** Ends the hooks; from the first that fails, or if training failed, they are abandoned. */
  private void end() {
    Iterator<SessionRunHook> left = hooks.iterator();
    try {
      while (failure == null && left.hasNext()) {
        left.next().end(session);
      }
    } catch (RuntimeException e) {
      fail(MillraceException.of(e));
      throw e;
    } finally {
      if (failure != null) {
        abandon(left);
      }
    }
  }

  /** If the session ended with the training, there is another to say so in. */
  private void abandon(Iterator<SessionRunHook> left) {
    if (session == null || coordinator.failure() != null) {
      closeSession();
      if (SessionStarter.isPassing(failure)) {
        LOG.warn("No task can be told of the failure.");
        return;
      }
      try {
        session = starter.last();
      } catch (MillraceException e) {
        // The failure that is to be told is the one to report, not this.
        LOG.warn("No task can be told of the failure: {}", e.getMessage());
        return;
      }
      coordinator = new Coordinator(settings.platform());
    }
    while (left.hasNext()) {
      try {
        left.next().abandon(session, failure);
      } catch (RuntimeException e) {
        LOG.warn("A hook could not be ended: {}", e.toString());
      }
    }
  }

  private void closeSession() {
    if (session == null) {
      return;
    }
    watch.watch(null);
    coordinator.requestStop();
    try {
      session.close();
    } catch (MillraceException e) {
      LOG.debug("Closing a session that was lost: {}", e.getMessage());
    }
    try {
      coordinator.join(settings.stopGrace());
    } catch (MillraceException e) {
      LOG.debug("A thread beside the steps ended with: {}", e.getMessage());
    }
    session = null;
  }

  /** Ends the hooks unless training failed, and closes the session. */
  @Override
  public void close() {
    if (closed) {
      return;
    }
    closed = true;
    try {
      end();
    } finally {
      watch.close();
      closeSession();
      usual.close();
      if (lock != null) {
        lock.close();
      }
      if (termination != null) {
        if (failure == null) {
          termination.close();
        } else {
          termination.failed();
        }
      }
    }
  }
}
