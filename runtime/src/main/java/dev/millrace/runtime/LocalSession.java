package dev.millrace.runtime;

import dev.millrace.base.Cancellation;
import dev.millrace.base.Timers;
import dev.millrace.base.context.Context;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.runtime.device.Device;
import dev.millrace.runtime.exec.LocalRendezvous;
import dev.millrace.runtime.exec.RunningSteps;
import dev.millrace.runtime.exec.Step;
import dev.millrace.runtime.exec.StepExecutor;
import dev.millrace.runtime.exec.StepFailures;
import dev.millrace.runtime.plan.ClientGraph;
import dev.millrace.runtime.plan.StepPlanner;
import dev.millrace.runtime.plan.StepSignature;
import dev.millrace.tensor.Tensor;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiConsumer;

/**
 * A session in this process: a cluster of one task, without master and rendezvous between tasks. A
 * run on one device happens on the calling thread.
 *
 * <p>Threading: any number of runs at once, from any threads.
 */
@SuppressWarnings("exports") // Only sessions of Millrace implement the protected methods.
public final class LocalSession extends PlannedSession<LocalSession.LocalPlan> {
  private static final AtomicLong STEP_IDS = new AtomicLong(1);
  private static final String TASK = "/job:localhost/replica:0/task:0";

  /** How a step of one signature runs. */
  record LocalPlan(List<String> fetchNames, StepExecutor executor) implements Plan {}

  private final List<Device> devices;
  private final StepPlanner<LocalPlan> planner;
  private final Timers timers;
  private final RunningSteps running;

  /** Runs the parts of all devices but one; null if there is only one. */
  private final ExecutorService otherDevices;

  /** A session on {@code graph} with one device. */
  public LocalSession(Graph graph) {
    this(graph, SessionOptions.DEFAULT);
  }

  /** A session on {@code graph}; nodes added to it later can be run too. */
  public LocalSession(Graph graph, SessionOptions options) {
    Context context = options.context() == null ? Context.current() : options.context();
    super(graph, options.stepTimeout(), context);
    timers = options.timers() == null ? context.timers() : options.timers();
    running = new RunningSteps(timers);
    devices =
        Device.ofTask(TASK, options.devices(), options.store(), context.platform().secureRandom());
    otherDevices =
        devices.size() == 1
            ? null
            : Executors.newCachedThreadPool(context.threads("millrace-device-"));
    planner =
        new StepPlanner<>(
            graph,
            devices,
            new StepPlanner.Rules(
                options.softPlacement(),
                placementLog(options),
                options.simplify(),
                ClientGraph.inProcess(devices.getFirst().name())),
            (s, step) ->
                new LocalPlan(s.fetchNames(), StepExecutor.compile(step, devices, otherDevices)));
  }

  private static BiConsumer<Node, String> placementLog(SessionOptions options) {
    return options.placementLog() == null
        ? null
        : (n, device) ->
            options.placementLog().println(n.name() + ": (" + n.op().name() + "): " + device);
  }

  /** The devices of this session, for their state. */
  public List<Device> devices() {
    return devices;
  }

  @Override
  protected LocalPlan knownPlan(StepSignature s) {
    return planner.knownPlan(s);
  }

  @Override
  protected LocalPlan makePlan(StepSignature s) {
    return planner.planFor(s);
  }

  @Override
  protected Tensor[] execute(LocalPlan plan, Tensor[] feeds, RunOptions options, Duration limit) {
    Step step =
        new Step(
            STEP_IDS.getAndIncrement(),
            new LocalRendezvous(),
            new Cancellation(),
            feeds,
            plan.fetchNames.size(),
            options.trace(),
            limit,
            timers);
    try (RunningSteps.Registration _ = running.add(step)) {
      checkOpen();
      plan.executor.run(step);
    } finally {
      releaseStateIfOver();
    }
    return step.completeResults(i -> StepFailures.fetched(plan.fetchNames.get(i)));
  }

  @Override
  protected void end() {
    running.failAll(StepFailures::cancelledByClose);
    if (otherDevices != null) {
      otherDevices.shutdown();
    }
    planner.close(p -> p.executor.close());
    releaseStateIfOver();
  }

  /** The variables and queues of a closed session go when the last of its steps has ended. */
  private void releaseStateIfOver() {
    if (isClosed() && running.isEmpty()) {
      devices.forEach(d -> d.resources().closeAll());
    }
  }
}
