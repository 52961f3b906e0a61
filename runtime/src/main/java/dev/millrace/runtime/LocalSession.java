package dev.millrace.runtime;

import dev.millrace.base.Cancellation;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Given;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.runtime.exec.CompiledGraph;
import dev.millrace.runtime.exec.LocalRendezvous;
import dev.millrace.runtime.exec.Step;
import dev.millrace.runtime.exec.StepRun;
import dev.millrace.runtime.plan.ClientGraph;
import dev.millrace.runtime.plan.Partitioner;
import dev.millrace.runtime.plan.Placer;
import dev.millrace.runtime.plan.Signature;
import dev.millrace.runtime.plan.Simplifier;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A session in this process. The plan for each combination of feeds, fetches and targets is made
 * once: pruned, placed, simplified, partitioned by device, compiled. A run on one device happens on
 * the calling thread.
 */
public final class LocalSession implements Session {
  private static final AtomicLong STEP_IDS = new AtomicLong(1);
  private static final ScheduledExecutorService TIMER =
      Executors.newSingleThreadScheduledExecutor(
          Thread.ofPlatform().name("millrace-session-timer").daemon().factory());

  /** A part of a plan: what runs on one device. */
  private record Part(Device device, CompiledGraph graph) {}

  private record Plan(Signature signature, List<Part> parts) {}

  private final Graph graph;
  private final SessionOptions options;
  private final List<Device> devices = new ArrayList<>();
  private final Map<Signature, Plan> plans = new ConcurrentHashMap<>();
  private final Set<Step> running = ConcurrentHashMap.newKeySet();
  private final ExecutorService otherDevices;

  /** Devices of the nodes placed so far. Guarded by this. */
  private Map<Node, String> placement = Map.of();

  private int placedNodes;
  private volatile boolean closed;

  /** A session on {@code graph} with one device. */
  public LocalSession(Graph graph) {
    this(graph, SessionOptions.DEFAULT);
  }

  /** A session on {@code graph}; nodes added to it later can be run too. */
  public LocalSession(Graph graph, SessionOptions options) {
    this.graph = Given.value(graph, "The graph of a session");
    this.options = options;
    for (int i = 0; i < options.cpuDevices(); i++) {
      devices.add(Device.local("/job:localhost/replica:0/task:0/device:CPU:" + i));
    }
    otherDevices =
        options.cpuDevices() == 1
            ? null
            : Executors.newCachedThreadPool(
                Thread.ofPlatform().name("millrace-device-", 0).daemon().factory());
  }

  /** The devices of this session, for their state. */
  public List<Device> devices() {
    return List.copyOf(devices);
  }

  @Override
  public List<Tensor> run(
      Map<Output, Tensor> feeds, List<Output> fetches, List<Node> targets, RunOptions o) {
    List<Output> fed = new ArrayList<>(Given.value(feeds, "The map of feeds").keySet());
    Given.all(fed, "feeds");
    // A fixed order, so that the same feeds find the same plan.
    fed.sort(
        java.util.Comparator.<Output>comparingInt(f -> f.node().id())
            .thenComparingInt(Output::index));
    Plan plan = planFor(new Signature(fed, fetches, targets));
    Tensor[] arguments = new Tensor[fed.size()];
    for (int i = 0; i < arguments.length; i++) {
      arguments[i] = feeds.get(fed.get(i));
    }
    return List.of(execute(plan, arguments, o));
  }

  @Override
  public Callable makeCallable(List<Output> feeds, List<Output> fetches, List<Node> targets) {
    Plan plan = planFor(new Signature(feeds, fetches, targets));
    return values -> execute(plan, values, RunOptions.DEFAULT);
  }

  private Plan planFor(Signature s) {
    Plan p = plans.get(s);
    return p != null ? p : makePlan(s);
  }

  private synchronized Plan makePlan(Signature s) {
    Plan known = plans.get(s);
    if (known != null) {
      return known;
    }
    s.checkIn(graph);
    place();
    Device first = devices.getFirst();
    Graph client = ClientGraph.of(graph, s, placement, ClientGraph.inProcess(first.name()));
    if (options.simplify()) {
      client = Simplifier.simplify(client, s.targetNames());
    }
    Map<String, Device> byName = new java.util.HashMap<>();
    devices.forEach(d -> byName.put(d.name(), d));
    Map<String, Graph> parts =
        Partitioner.partition(client, d -> d, d -> byName.get(d).incarnation(), "G");
    List<Part> compiled = new ArrayList<>();
    parts.forEach((d, g) -> compiled.add(new Part(byName.get(d), new CompiledGraph(g))));
    Plan plan = new Plan(s, List.copyOf(compiled));
    plans.put(s, plan);
    return plan;
  }

  private void place() {
    if (graph.size() == placedNodes) {
      return;
    }
    Map<Node, String> before = placement;
    placement = Placer.place(graph, devices, options.softPlacement(), before);
    placedNodes = graph.size();
    if (options.placementLog() != null) {
      for (Node n : graph.nodes()) {
        if (!before.containsKey(n) && placement.containsKey(n)) {
          options
              .placementLog()
              .println(n.name() + ": (" + n.op().name() + "): " + placement.get(n));
        }
      }
    }
  }

  private Tensor[] execute(Plan plan, Tensor[] arguments, RunOptions o) {
    plan.signature.checkFeeds(arguments);
    Step step =
        new Step(
            STEP_IDS.getAndIncrement(),
            new LocalRendezvous(),
            new Cancellation(),
            arguments,
            plan.signature.fetches().size(),
            o.trace());
    running.add(step);
    ScheduledFuture<?> timeout = null;
    try {
      if (closed) {
        throw new MillraceException(Code.CANCELLED, "Session has been closed.");
      }
      if (o.hasTimeout()) {
        timeout =
            TIMER.schedule(
                () -> step.fail(timedOut(step, o)), o.timeout().toNanos(), TimeUnit.NANOSECONDS);
      }
      runParts(plan, step);
    } finally {
      running.remove(step);
      releaseStateIfOver();
      if (timeout != null) {
        timeout.cancel(false);
      }
    }
    Tensor[] results =
        step.completeResults(
            i -> "The fetched tensor '%s'".formatted(plan.signature.fetches().get(i).name()));
    for (Tensor t : results) {
      t.guarded();
    }
    return results;
  }

  private static MillraceException timedOut(Step step, RunOptions o) {
    return new MillraceException(
        Code.DEADLINE_EXCEEDED,
        "Step "
            + step.id()
            + " took longer than its timeout of "
            + o.timeout().toMillis()
            + " ms."
            + (step.rendezvous() instanceof LocalRendezvous r && !r.awaited().isEmpty()
                ? " It waits for " + r.awaited()
                : ""));
  }

  private void runParts(Plan plan, Step step) {
    List<Future<?>> others = plan.parts.size() > 1 ? new ArrayList<>() : List.of();
    try {
      for (int i = 1; i < plan.parts.size(); i++) {
        Part p = plan.parts.get(i);
        others.add(otherDevices.submit(() -> StepRun.run(p.graph, step, p.device.resources())));
      }
    } catch (RejectedExecutionException e) {
      step.fail(new MillraceException(Code.CANCELLED, "Session has been closed."));
    }
    if (!plan.parts.isEmpty()) {
      Part p = plan.parts.getFirst();
      StepRun.run(p.graph, step, p.device.resources());
    }
    for (Future<?> f : others) {
      awaitPart(f, step);
    }
  }

  /** Waits for the part of another device, also when interrupted: it uses what the caller fed. */
  private static void awaitPart(Future<?> part, Step step) {
    boolean interrupted = false;
    while (true) {
      try {
        part.get();
        break;
      } catch (ExecutionException e) {
        step.fail(MillraceException.of(e));
        break;
      } catch (InterruptedException e) {
        interrupted = true;
        step.fail(new MillraceException(Code.CANCELLED, "The calling thread was interrupted.", e));
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public void close() {
    closed = true;
    for (Step s : running) {
      s.fail(new MillraceException(Code.CANCELLED, "Session has been closed."));
    }
    if (otherDevices != null) {
      otherDevices.shutdown();
    }
    plans.values().forEach(p -> p.parts.forEach(part -> part.graph.close()));
    plans.clear();
    releaseStateIfOver();
  }

  /** The variables and queues of a closed session go when the last of its steps has ended. */
  private void releaseStateIfOver() {
    if (closed && running.isEmpty()) {
      devices.forEach(d -> d.resources().clearAll());
    }
  }
}
