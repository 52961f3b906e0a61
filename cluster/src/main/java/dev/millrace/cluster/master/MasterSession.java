package dev.millrace.cluster.master;

import dev.millrace.base.Cancellation;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Platform;
import dev.millrace.base.Timers;
import dev.millrace.cluster.collective.GraphKey;
import dev.millrace.cluster.collective.StepSequences;
import dev.millrace.cluster.peer.StepParameters;
import dev.millrace.cluster.peer.StepReport;
import dev.millrace.cluster.peer.WorkerPeer;
import dev.millrace.cluster.worker.Worker;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Rendezvous;
import dev.millrace.graph.name.DeviceSpec;
import dev.millrace.proto.GraphDef;
import dev.millrace.proto.RunMetadata;
import dev.millrace.runtime.device.Device;
import dev.millrace.runtime.exec.RunningSteps;
import dev.millrace.runtime.exec.StepFailures;
import dev.millrace.runtime.plan.ClientGraph;
import dev.millrace.runtime.plan.GraphPartitioner;
import dev.millrace.runtime.plan.StepPlanner;
import dev.millrace.runtime.plan.StepSignature;
import dev.millrace.tensor.Tensor;
import dev.millrace.wire.GraphCodec;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A client's session: its graph, where its nodes are placed, and the plans of its steps. A plan is
 * made once per combination of feeds, fetches and targets: pruned, simplified, cut by task, each
 * part registered with its worker.
 *
 * <p>Threading: any thread; steps of one session run concurrently.
 */
public final class MasterSession {
  private static final Logger LOG = LoggerFactory.getLogger(MasterSession.class);

  private final Platform platform;
  private final Timers timers;
  private final String handle;
  private final Graph graph;
  private final SessionSettings settings;
  private final List<WorkerPeer> workers;
  private final Map<String, WorkerPeer> workersByTask = new HashMap<>();
  private final List<Device> devices;
  private final Map<String, Device> devicesByName = new HashMap<>();

  /** Feeds and fetches live here: the first device of the master's own task. */
  private final Device clientDevice;

  /** The ids of steps that other masters run parts of too. */
  private final StepSequences collectiveSteps;

  /** Counts the steps of all sessions of the master. */
  private final LongAdder steps;

  private final StepPlanner<StepPlan> planner;

  /** Held while the graph grows, which waits while a plan is made. */
  private final Lock growing = new ReentrantLock();

  private final Map<String, PartialRun> partialRuns = new ConcurrentHashMap<>();
  private final AtomicLong partialRunIds = new AtomicLong();
  private final RunningSteps running;
  private long version;
  private volatile Duration stepTimeout;
  private volatile boolean closed;
  private volatile Runnable whenClosed = () -> {};

  MasterSession(
      String handle,
      Graph graph,
      SessionSettings settings,
      List<WorkerPeer> workers,
      List<Device> devices,
      Device clientDevice,
      StepSequences collectiveSteps,
      LongAdder steps,
      Platform platform) {
    this.platform = platform;
    this.timers = platform.timers();
    this.running = new RunningSteps(timers);
    this.handle = handle;
    this.graph = graph;
    this.settings = settings;
    this.workers = workers;
    this.devices = devices;
    this.clientDevice = clientDevice;
    this.collectiveSteps = collectiveSteps;
    this.steps = steps;
    workers.forEach(w -> workersByTask.put(w.name(), w));
    devices.forEach(d -> devicesByName.put(d.name(), d));
    planner =
        new StepPlanner<>(
            graph,
            devices,
            new StepPlanner.Rules(
                settings.softPlacement(),
                settings.logPlacement()
                    ? (n, device) -> LOG.info("{}: ({}): {}", n.name(), n.op().name(), device)
                    : null,
                true,
                ClientGraph.byRendezvous(clientDevice.name(), clientDevice.incarnation())),
            this::makePlan);
  }

  /** Sets the time limit of steps whose client names none; null for no limit. */
  void limitSteps(Duration timeout) {
    stepTimeout = timeout;
  }

  /** Has something done once the session is closed and the workers know. */
  void whenClosed(Runnable action) {
    whenClosed = action;
  }

  public String handle() {
    return handle;
  }

  public long version() {
    growing.lock();
    try {
      return version;
    } finally {
      growing.unlock();
    }
  }

  /** The graph; it grows only inside {@link #extend}. */
  public Graph graph() {
    return graph;
  }

  public List<Device> devices() {
    return devices;
  }

  List<WorkerPeer> workers() {
    return workers;
  }

  /** Gives every node that has none a device; errors surface here. */
  void place() {
    planner.place();
  }

  /** Grows the graph by what {@code addNodes} adds, if the caller knows the current version. */
  public long extend(long callersVersion, java.util.function.Consumer<Graph> addNodes) {
    growing.lock();
    try {
      checkOpen();
      if (callersVersion != version) {
        throw new MillraceException(
            Code.ABORTED,
            "Current version is " + version + " but caller expected " + callersVersion + ".");
      }
      planner.grow(addNodes);
      return ++version;
    } finally {
      growing.unlock();
    }
  }

  private void checkOpen() {
    if (closed) {
      throw StepFailures.cancelledByClose();
    }
  }

  // ---- steps ----

  /** The plan of a step that a client in this process or another names. */
  public StepPlan plan(List<String> feeds, List<String> fetches, List<String> targets) {
    checkOpen();
    return planner.planFor(StepSignature.named(graph, feeds, fetches, targets));
  }

  /**
   * Runs a step. Feeds are borrowed; the results, in the order of the fetches, are the caller's to
   * release.
   */
  public List<Tensor> run(
      StepPlan plan, List<Tensor> feeds, StepParameters how, Cancellation cancellation) {
    checkOpen();
    plan.signature().checkFeeds(feeds.toArray(new Tensor[0]));
    steps.increment();
    Map<String, Tensor> byKey = new LinkedHashMap<>();
    for (int i = 0; i < feeds.size(); i++) {
      byKey.put(plan.feedKeys().get(i), feeds.get(i));
    }
    long collectiveKey =
        plan.collectiveKey() == GraphKey.NONE || how.collectiveKey() == GraphKey.NONE
            ? plan.collectiveKey()
            : how.collectiveKey();
    if (collectiveKey == GraphKey.NONE) {
      long id = how.stepId() == 0 ? newStepId() : how.stepId();
      return run(id, plan, byKey, how, cancellation);
    }
    boolean well = false;
    long stepId = collectiveSteps.begin(collectiveKey);
    try {
      List<Tensor> results = run(stepId, plan, byKey, how, cancellation);
      well = true;
      return results;
    } finally {
      collectiveSteps.ended(collectiveKey, well);
    }
  }

  private List<Tensor> run(
      long stepId,
      StepPlan plan,
      Map<String, Tensor> feeds,
      StepParameters how,
      Cancellation cancellation) {
    MasterStep step =
        new MasterStep(
            stepId, plan, how.limitUnder(stepTimeout), how.report(), cancellation, timers);
    try (RunningSteps.Registration _ = running.add(step)) {
      if (closed) {
        step.fail(StepFailures.cancelledByClose());
      }
      return step.run(handle, feeds);
    }
  }

  /** Runs a step and adds the metadata that the client asked for to {@code metadata}. */
  public List<Tensor> run(
      StepPlan plan,
      List<Tensor> feeds,
      dev.millrace.proto.RunOptions asked,
      RunMetadata.Builder metadata,
      Cancellation cancellation) {
    boolean traced = asked.getTraceLevel().getNumber() > 0;
    boolean measured =
        settings.costModelEvery() > 0 && settings.measures(plan.runs().getAndIncrement());
    StepReport report = new StepReport(traced || measured);
    StepParameters how =
        new StepParameters(
            asked.getTimeoutInMs() > 0 ? Duration.ofMillis(asked.getTimeoutInMs()) : null,
            asked.getExperimental().getDefaultTimeout(),
            asked.getExperimental().getCollectiveGraphKey(),
            0,
            report);
    List<Tensor> results = run(plan, feeds, how, cancellation);
    if (traced) {
      metadata.getStepStatsBuilder().addAllDevStats(report.times());
    }
    if (asked.getOutputPartitionGraphs()) {
      metadata.addAllPartitionGraphs(partitionGraphs(plan));
    }
    if (measured) {
      metadata.setCostGraph(CostGraph.of(partitionGraphs(plan), report.times()));
    }
    return results;
  }

  private StepPlan makePlan(StepSignature s, Graph step) {
    Map<WorkerPeer, CompletableFuture<String>> registered = new LinkedHashMap<>();
    byTask(step)
        .forEach(
            (task, part) -> {
              WorkerPeer w = workersByTask.get(task);
              registered.put(w, w.registerGraph(handle, part));
            });
    List<StepPlan.Part> parts = new ArrayList<>();
    String clientTask = clientDevice.spec().taskName();
    registered.forEach(
        (w, future) ->
            parts.add(
                new StepPlan.Part(
                    w,
                    await(future, Duration.ofMinutes(2), "RegisterGraph", w, timers),
                    w.name().equals(clientTask))));
    // The part on this task runs on the calling thread, so it is started last.
    parts.sort(java.util.Comparator.comparing((StepPlan.Part p) -> p.worker() instanceof Worker));
    return new StepPlan(
        s,
        List.copyOf(parts),
        s.feedNames().stream().map(this::clientKey).toList(),
        s.fetchNames().stream().map(this::clientKey).toList(),
        GraphKey.of(step),
        new AtomicLong());
  }

  private Map<String, Graph> byTask(Graph step) {
    return GraphPartitioner.partition(
        step, d -> DeviceSpec.parse(d).taskName(), d -> devicesByName.get(d).incarnation(), "S");
  }

  /** The graph of each device for such a step. */
  private List<GraphDef> partitionGraphs(StepPlan plan) {
    List<GraphDef> parts = new ArrayList<>();
    for (Graph ofTask : byTask(planner.stepGraph(plan.signature())).values()) {
      GraphPartitioner.partition(ofTask, d -> d, d -> devicesByName.get(d).incarnation(), "G")
          .values()
          .forEach(part -> parts.add(GraphCodec.encode(part)));
    }
    return parts;
  }

  private String clientKey(String tensorName) {
    return Rendezvous.Key.of(
            clientDevice.name(), clientDevice.incarnation(), clientDevice.name(), tensorName)
        .full();
  }

  /** Step ids have their top seven bits clear, as TensorFlow's do. */
  private long newStepId() {
    return platform.random().nextLong() >>> 7;
  }

  // ---- partial runs ----

  /** Makes a step ready that is fed and fetched from bit by bit; returns its handle. */
  public String setUpPartialRun(List<String> feeds, List<String> fetches, List<String> targets) {
    StepPlan plan = plan(feeds, fetches, targets);
    String id = Long.toString(partialRunIds.incrementAndGet());
    PartialRun run = new PartialRun(handle, plan, feeds, fetches, newStepId());
    partialRuns.put(id, run);
    return id;
  }

  /**
   * Continues a partial run. {@code cancellation} ends the whole run. The caller releases the
   * results.
   */
  public List<Tensor> runPartial(
      String id,
      List<String> feedNames,
      List<Tensor> feeds,
      List<String> fetches,
      Cancellation cancellation) {
    checkOpen();
    PartialRun run = partialRuns.get(id);
    if (run == null) {
      throw MillraceException.invalid(
          "Must run PartialRunSetup before performing partial runs; there is no partial run '%s'.",
          id);
    }
    Cancellation.Registration onCancel =
        cancellation.onCancel(() -> run.cancellation().cancel(cancellation.cause()));
    try {
      return run.run(feedNames, feeds, fetches);
    } finally {
      onCancel.close();
      if (run.isOver()) {
        partialRuns.remove(id);
      }
    }
  }

  static <T> T await(
      CompletableFuture<T> future, Duration limit, String what, WorkerPeer worker, Timers timers) {
    try {
      return timers.get(future, limit);
    } catch (ExecutionException e) {
      MillraceException m = MillraceException.of(e);
      throw m.withMessage("From " + worker.name() + ":\n" + m.getMessage());
    } catch (TimeoutException e) {
      throw new MillraceException(
          Code.DEADLINE_EXCEEDED,
          what + " on " + worker.name() + " had no answer within " + limit.toSeconds() + " s.");
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new MillraceException(Code.CANCELLED, what + " was interrupted.", e);
    }
  }

  /** Cancels steps in flight and lets the workers forget the session. */
  void close() {
    closed = true;
    running.failAll(StepFailures::cancelledByClose);
    partialRuns.values().forEach(r -> r.cancellation().cancel(StepFailures.cancelledByClose()));
    List<CompletableFuture<Void>> told = new ArrayList<>();
    for (WorkerPeer w : workers) {
      told.add(
          w.deleteSession(handle, Duration.ofSeconds(10))
              .exceptionally(
                  e -> {
                    LOG.debug("{} did not delete session {}: {}", w.name(), handle, e.getMessage());
                    return null;
                  }));
    }
    CompletableFuture.allOf(told.toArray(new CompletableFuture<?>[0]))
        .whenComplete((done, e) -> whenClosed.run());
    planner.close(plan -> {});
    partialRuns.clear();
  }
}
