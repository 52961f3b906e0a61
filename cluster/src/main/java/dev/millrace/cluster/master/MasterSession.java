package dev.millrace.cluster.master;

import dev.millrace.base.Cancellation;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.cluster.collective.GraphKey;
import dev.millrace.cluster.collective.StepSequences;
import dev.millrace.cluster.worker.RunGraph;
import dev.millrace.cluster.worker.Worker;
import dev.millrace.cluster.worker.WorkerPeer;
import dev.millrace.graph.DeviceSpec;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.op.Rendezvous;
import dev.millrace.proto.DeviceStepStats;
import dev.millrace.proto.GraphDef;
import dev.millrace.proto.RunMetadata;
import dev.millrace.runtime.Device;
import dev.millrace.runtime.RunOptions;
import dev.millrace.runtime.plan.ClientGraph;
import dev.millrace.runtime.plan.Partitioner;
import dev.millrace.runtime.plan.Placer;
import dev.millrace.runtime.plan.Signature;
import dev.millrace.runtime.plan.Simplifier;
import dev.millrace.tensor.Tensor;
import dev.millrace.wire.GraphCodec;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;
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

  /** What identifies a plan: the names as the client gave them. */
  private record Wish(List<String> feeds, List<String> fetches, List<String> targets) {
    /** Refuses, in TensorFlow's words, what makes no step. */
    void check() {
      if (fetches.isEmpty() && targets.isEmpty()) {
        throw MillraceException.invalid("Must specify at least one target to fetch or execute.");
      }
      Set<String> fed = new HashSet<>();
      for (String f : feeds) {
        if (!fed.add(f)) {
          throw MillraceException.invalid("Endpoint %s fed more than once.", f);
        }
      }
      for (String f : fetches) {
        if (fed.contains(f)) {
          throw MillraceException.invalid("%s is both fed and fetched.", f);
        }
      }
    }
  }

  /** TensorFlow's own message: its users match it. */
  private static final String CLOSED =
      "Step was cancelled by an explicit call to `Session::Close()`.";

  /** How long a step that waits for an answer only offers its processor before it sleeps. */
  private static final long YIELD_NANOS = 50_000;

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

  private final Map<Wish, StepPlan> plans = new ConcurrentHashMap<>();
  private final Map<String, PartialRun> partialRuns = new ConcurrentHashMap<>();
  private final AtomicLong partialRunIds = new AtomicLong();
  private final Set<Cancellation> running = ConcurrentHashMap.newKeySet();
  private Map<Node, String> placement = Map.of();
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
      LongAdder steps) {
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

  public synchronized long version() {
    return version;
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
  synchronized void place() {
    Map<Node, String> before = placement;
    placement = Placer.place(graph, devices, settings.softPlacement(), before);
    if (settings.logPlacement()) {
      for (Node n : graph.nodes()) {
        if (!before.containsKey(n)) {
          LOG.info("{}: ({}): {}", n.name(), n.op().name(), placement.get(n));
        }
      }
    }
  }

  /** Grows the graph by what {@code addNodes} adds, if the caller knows the current version. */
  public synchronized long extend(
      long callersVersion, java.util.function.Consumer<Graph> addNodes) {
    checkOpen();
    if (callersVersion != version) {
      throw new MillraceException(
          Code.ABORTED,
          "Current version is " + version + " but caller expected " + callersVersion + ".");
    }
    addNodes.accept(graph);
    place();
    return ++version;
  }

  private void checkOpen() {
    if (closed) {
      throw new MillraceException(Code.CANCELLED, CLOSED);
    }
  }

  // ---- steps ----

  /**
   * Runs a step. Feeds are borrowed; the results, in the order of {@code fetches}, are the caller's
   * to release. What ran when is given to {@code trace} unless that is null.
   */
  public List<Tensor> run(
      List<String> feedNames,
      List<Tensor> feeds,
      List<String> fetches,
      List<String> targets,
      RunOptions options,
      Consumer<DeviceStepStats> trace,
      Cancellation cancellation) {
    checkOpen();
    steps.increment();
    StepPlan plan = planFor(new Wish(feedNames, fetches, targets));
    Map<String, Tensor> byKey = new LinkedHashMap<>();
    for (int i = 0; i < feeds.size(); i++) {
      byKey.put(plan.feedKeys().get(i), feeds.get(i));
    }
    running.add(cancellation);
    try {
      if (closed) {
        cancel(cancellation);
      }
      return runStep(plan, byKey, options, trace, cancellation);
    } finally {
      running.remove(cancellation);
    }
  }

  /** Runs a step and adds the metadata that the client asked for to {@code metadata}. */
  public List<Tensor> run(
      List<String> feedNames,
      List<Tensor> feeds,
      List<String> fetches,
      List<String> targets,
      RunOptions options,
      dev.millrace.proto.RunOptions asked,
      RunMetadata.Builder metadata,
      Cancellation cancellation) {
    checkOpen();
    Wish wish = new Wish(feedNames, fetches, targets);
    boolean traced = asked.getTraceLevel().getNumber() > 0;
    boolean measured =
        settings.costModelEvery() > 0 && settings.measures(planFor(wish).runs().getAndIncrement());
    List<DeviceStepStats> times = Collections.synchronizedList(new ArrayList<>());
    List<Tensor> results =
        run(
            feedNames,
            feeds,
            fetches,
            targets,
            options,
            traced || measured ? times::add : null,
            cancellation);
    if (traced) {
      metadata.getStepStatsBuilder().addAllDevStats(times);
    }
    if (asked.getOutputPartitionGraphs()) {
      metadata.addAllPartitionGraphs(partitionGraphs(wish));
    }
    if (measured) {
      metadata.setCostGraph(CostGraph.of(partitionGraphs(wish), times));
    }
    return results;
  }

  private StepPlan planFor(Wish wish) {
    StepPlan p = plans.get(wish);
    return p != null ? p : makePlan(wish);
  }

  private synchronized StepPlan makePlan(Wish wish) {
    StepPlan known = plans.get(wish);
    if (known != null) {
      return known;
    }
    wish.check();
    Graph client = clientGraph(wish);
    Map<String, Graph> byTask = byTask(client);
    Map<WorkerPeer, CompletableFuture<String>> registered = new LinkedHashMap<>();
    byTask.forEach(
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
                    await(future, Duration.ofMinutes(2), "RegisterGraph", w),
                    w.name().equals(clientTask))));
    // The part on this task runs on the calling thread, so it is started last.
    parts.sort(java.util.Comparator.comparing((StepPlan.Part p) -> p.worker() instanceof Worker));
    StepPlan plan =
        new StepPlan(
            List.copyOf(parts),
            wish.feeds.stream().map(this::clientKey).toList(),
            wish.fetches.stream().map(this::clientKey).toList(),
            GraphKey.of(client),
            new AtomicLong());
    plans.put(wish, plan);
    return plan;
  }

  /** The part of the session's graph that the step runs. */
  private Graph clientGraph(Wish wish) {
    List<Output> feeds = wish.feeds.stream().map(graph::output).toList();
    List<Output> fetches = wish.fetches.stream().map(graph::output).toList();
    List<Node> targets = wish.targets.stream().map(this::target).toList();
    Signature wanted = new Signature(feeds, fetches, targets);
    return Simplifier.simplify(
        ClientGraph.of(
            graph,
            wanted,
            placement,
            ClientGraph.byRendezvous(
                clientDevice.name(), clientDevice.incarnation(), wish.feeds, wish.fetches)),
        wanted.targetNames());
  }

  private Map<String, Graph> byTask(Graph client) {
    return Partitioner.partition(
        client, d -> DeviceSpec.parse(d).taskName(), d -> devicesByName.get(d).incarnation(), "S");
  }

  /** The graph of each device for such a step. */
  private synchronized List<GraphDef> partitionGraphs(Wish wish) {
    List<GraphDef> parts = new ArrayList<>();
    for (Graph ofTask : byTask(clientGraph(wish)).values()) {
      Partitioner.partition(ofTask, d -> d, d -> devicesByName.get(d).incarnation(), "G")
          .values()
          .forEach(part -> parts.add(GraphCodec.encode(part)));
    }
    return parts;
  }

  private Node target(String name) {
    int colon = name.lastIndexOf(':');
    return graph.node(colon > 0 && graph.find(name) == null ? name.substring(0, colon) : name);
  }

  private String clientKey(String tensorName) {
    return Rendezvous.Key.of(
            clientDevice.name(), clientDevice.incarnation(), clientDevice.name(), tensorName)
        .full();
  }

  private List<Tensor> runStep(
      StepPlan plan,
      Map<String, Tensor> feeds,
      RunOptions options,
      Consumer<DeviceStepStats> trace,
      Cancellation cancellation) {
    long collectiveKey = collectiveKey(plan, options);
    if (collectiveKey == GraphKey.NONE) {
      return runStep(newStepId(), plan, feeds, options, trace, cancellation);
    }
    boolean well = false;
    long stepId = collectiveSteps.begin(collectiveKey);
    try {
      List<Tensor> results = runStep(stepId, plan, feeds, options, trace, cancellation);
      well = true;
      return results;
    } finally {
      collectiveSteps.ended(collectiveKey, well);
    }
  }

  private static long collectiveKey(StepPlan plan, RunOptions options) {
    return plan.collectiveKey() == GraphKey.NONE || options.collectiveKey() == GraphKey.NONE
        ? plan.collectiveKey()
        : options.collectiveKey();
  }

  private List<Tensor> runStep(
      long stepId,
      StepPlan plan,
      Map<String, Tensor> feeds,
      RunOptions options,
      Consumer<DeviceStepStats> trace,
      Cancellation cancellation) {
    List<CompletableFuture<List<Tensor>>> calls = new ArrayList<>(plan.parts().size());
    StepErrors errors = new StepErrors();
    CompletableFuture<Void> timer = timer(options, stepId, cancellation);
    List<Tensor> results = List.of();
    try {
      cancellation.checkLease();
      for (StepPlan.Part p : plan.parts()) {
        RunGraph call =
            new RunGraph(
                handle,
                true,
                p.graphHandle(),
                stepId,
                p.isClient() ? feeds : Map.of(),
                p.isClient() ? plan.fetchKeys() : List.of(),
                trace);
        CompletableFuture<List<Tensor>> f = p.worker().runGraph(call, cancellation);
        f.whenComplete(
            (r, e) -> {
              if (e != null) {
                errors.add(p.worker().name(), MillraceException.of(e), cancellation);
              }
            });
        calls.add(f);
      }
      for (int i = 0; i < calls.size(); i++) {
        List<Tensor> r =
            join(calls.get(i), plan.parts().get(i).worker(), stepId, cancellation, errors);
        if (plan.parts().get(i).isClient() && r != null) {
          results = r;
        }
      }
    } finally {
      if (timer != null) {
        timer.cancel(false);
      }
      plan.parts().forEach(p -> p.worker().cleanupStep(stepId));
    }
    MillraceException failure = errors.rootCause(cancellation);
    if (failure != null) {
      results.forEach(Tensor::release);
      throw failure;
    }
    return results;
  }

  /** Step ids have their top seven bits clear, as TensorFlow's do. */
  private static long newStepId() {
    return ThreadLocalRandom.current().nextLong() >>> 7;
  }

  // ---- partial runs ----

  /** Makes a step ready that is fed and fetched from bit by bit; returns its handle. */
  public String setUpPartialRun(List<String> feeds, List<String> fetches, List<String> targets) {
    checkOpen();
    StepPlan plan = planFor(new Wish(feeds, fetches, targets));
    String id = Long.toString(partialRunIds.incrementAndGet());
    PartialRun run = new PartialRun(handle, plan, feeds, fetches, newStepId());
    partialRuns.put(id, run);
    running.add(run.cancellation());
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
        running.remove(run.cancellation());
      }
    }
  }

  private CompletableFuture<Void> timer(
      RunOptions options, long stepId, Cancellation cancellation) {
    Duration limit = options.hasTimeout() ? options.timeout() : stepTimeout;
    if (limit == null) {
      return null;
    }
    return CompletableFuture.runAsync(
        () ->
            cancellation.cancel(
                new MillraceException(
                    Code.DEADLINE_EXCEEDED,
                    "Step "
                        + stepId
                        + " took longer than its timeout of "
                        + limit.toMillis()
                        + " ms.")),
        CompletableFuture.delayedExecutor(limit.toNanos(), TimeUnit.NANOSECONDS, Runnable::run));
  }

  /** Waits for one worker's answer, reporting every ten seconds whom it waits for. */
  private List<Tensor> join(
      CompletableFuture<List<Tensor>> call,
      WorkerPeer worker,
      long stepId,
      Cancellation cancellation,
      StepErrors errors) {
    long start = System.nanoTime();
    while (!call.isDone() && System.nanoTime() - start < YIELD_NANOS) {
      Thread.yield();
    }
    while (true) {
      try {
        return call.get(10, TimeUnit.SECONDS);
      } catch (TimeoutException e) {
        LOG.info(
            "Step {} has waited {} s for {}.",
            stepId,
            (System.nanoTime() - start) / 1_000_000_000L,
            worker.name());
      } catch (ExecutionException e) {
        errors.add(worker.name(), MillraceException.of(e), cancellation);
        return null;
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        MillraceException c =
            new MillraceException(Code.CANCELLED, "The client's thread was interrupted.", e);
        cancellation.cancel(c);
        errors.add(worker.name(), c, cancellation);
        // Results may be under way already.
        call.thenAccept(late -> late.forEach(Tensor::release));
        return null;
      }
    }
  }

  static <T> T await(CompletableFuture<T> future, Duration limit, String what, WorkerPeer worker) {
    try {
      return future.get(limit.toMillis(), TimeUnit.MILLISECONDS);
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

  private void cancel(Cancellation c) {
    c.cancel(new MillraceException(Code.CANCELLED, CLOSED));
  }

  /** Cancels steps in flight and lets the workers forget the session. */
  void close() {
    closed = true;
    running.forEach(this::cancel);
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
    plans.clear();
    partialRuns.clear();
  }
}
