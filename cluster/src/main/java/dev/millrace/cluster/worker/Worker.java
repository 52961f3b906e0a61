package dev.millrace.cluster.worker;

import dev.millrace.base.Cancellation;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Platform;
import dev.millrace.base.Timers;
import dev.millrace.base.context.Context;
import dev.millrace.base.steps.StepClock;
import dev.millrace.base.steps.StepHistory;
import dev.millrace.cluster.collective.TaskCollectives;
import dev.millrace.cluster.peer.PushChannel;
import dev.millrace.cluster.peer.RunGraph;
import dev.millrace.cluster.peer.StepParts;
import dev.millrace.cluster.peer.WorkerPeer;
import dev.millrace.cluster.peer.WorkerPeers;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.ServerLimits;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Rendezvous;
import dev.millrace.graph.name.DeviceSpec;
import dev.millrace.graph.resource.VariableStore;
import dev.millrace.proto.CompleteGroupRequest;
import dev.millrace.proto.CompleteGroupResponse;
import dev.millrace.proto.CompleteInstanceRequest;
import dev.millrace.proto.CompleteInstanceResponse;
import dev.millrace.proto.CreateWorkerSessionRequest;
import dev.millrace.proto.DeviceAttributes;
import dev.millrace.proto.DeviceLocality;
import dev.millrace.proto.GetStepSequenceRequest;
import dev.millrace.proto.GetStepSequenceResponse;
import dev.millrace.proto.RecvBufRequest;
import dev.millrace.proto.RecvBufResponse;
import dev.millrace.proto.ServerDef;
import dev.millrace.runtime.device.Device;
import dev.millrace.runtime.device.DeviceKind;
import dev.millrace.runtime.exec.RunningSteps;
import dev.millrace.runtime.exec.Step;
import dev.millrace.runtime.trace.StepTrace;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Tensor;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;

/**
 * This process' task: its devices, the sessions masters have opened on it, and the steps in flight.
 * State lives in the devices and survives sessions.
 *
 * <p>Threading: any thread. A step runs on the thread that calls {@link #run}.
 */
public final class Worker implements WorkerPeer, StepParts {
  /** What TensorFlow says of every CPU. */
  private static final long CPU_MEMORY_LIMIT = 256L << 20;

  private static final Duration GREETING = Duration.ofSeconds(3);

  /** Feeds of a part come by the rendezvous. */
  private static final Tensor[] NO_ARGUMENTS = {};

  private final StepHistory history = StepHistory.current();
  private final ServerLimits limits = ServerLimits.of(Context.current().config());
  private final TaskId task;
  private final List<Device> devices;
  private final WorkerPeers peers;

  /** This task in the cluster it was started in. */
  private final ClusterMembership home;

  /** How the tasks of a cluster that comes with a session are reached. */
  private Function<ClusterSpec, WorkerPeers> propagated =
      cluster -> {
        throw new IllegalStateException("no peers but those of the own cluster");
      };

  private final Executor threads;
  private final Platform platform;
  private final Map<String, WorkerSession> sessions = new ConcurrentHashMap<>();

  /** For masters that open no session of their own. */
  private final WorkerSession legacy;

  private final Map<Long, StepRendezvous> steps = new ConcurrentHashMap<>();

  /** Peers that wait for tensors of steps that have not begun here. */
  private final AtomicInteger waitingEarly = new AtomicInteger();

  /** The last steps that ended, so that what comes late for them is dropped. */
  private final RecentIds ended = new RecentIds(4096);

  private final PartialSteps partialSteps;
  private final TaskCollectives collectives;

  /** Set when the task ends: why there are no more steps. */
  private volatile MillraceException gone;

  /**
   * The worker of a task.
   *
   * @param kinds the kind of each of its devices
   * @param store keeps the state of its devices
   * @param collectiveLeader the name of the task that brings groups of devices together
   */
  public Worker(
      TaskId task,
      List<DeviceKind> kinds,
      VariableStore store,
      String collectiveLeader,
      WorkerPeers peers,
      Executor threads,
      Platform platform) {
    this.platform = platform;
    this.task = task;
    this.peers = peers;
    this.home = new ClusterMembership(task.name(), peers);
    this.threads = threads;
    devices = Device.ofTask(task.name(), kinds, store, platform.secureRandom());
    legacy = new WorkerSession(devices, home, platform.timers());
    partialSteps = new PartialSteps(this, threads);
    collectives =
        new TaskCollectives(
            task.name(), collectiveLeader, peers, d -> attributes(deviceOf(d)), platform);
  }

  @Override
  public String name() {
    return task.name();
  }

  @Override
  public String address() {
    return "this process";
  }

  public List<Device> devices() {
    return List.copyOf(devices);
  }

  /** How many sessions and steps this task holds, for status and leak checks. */
  public int sessionCount() {
    return sessions.size();
  }

  public int stepCount() {
    return steps.size();
  }

  /** Whether masters of other tasks have sessions or graphs here. */
  public boolean servesOthers() {
    return legacy.hasGraphs() || sessions.values().stream().anyMatch(s -> !s.isOf(name()));
  }

  /** What GetStatus answers. */
  public List<DeviceAttributes> attributes() {
    return devices.stream().map(Worker::attributes).toList();
  }

  private static DeviceAttributes attributes(Device d) {
    return DeviceAttributes.newBuilder()
        .setName(d.name())
        .setDeviceType(d.spec().type())
        .setMemoryLimit(CPU_MEMORY_LIMIT)
        .setLocality(DeviceLocality.getDefaultInstance())
        .setIncarnation(d.incarnation())
        .build();
  }

  /** The device of this type and number; a caller may know the task by another name. */
  private Device deviceOf(String name) {
    DeviceSpec wanted = DeviceSpec.parse(name);
    for (Device d : devices) {
      if (d.spec().type().equals(wanted.type()) && d.spec().index() == wanted.index()) {
        return d;
      }
    }
    throw MillraceException.invalid("%s has no device '%s'; it has %s.", name(), name, devices);
  }

  /** What this task does in collectives, and for those of others if it is their leader. */
  public TaskCollectives collectives() {
    return collectives;
  }

  // ---- sessions and graphs ----

  /** Says how the tasks of a cluster that comes with a session are reached. */
  public void setPropagated(Function<ClusterSpec, WorkerPeers> connect) {
    propagated = connect;
  }

  public void openSession(CreateWorkerSessionRequest r) {
    if (r.getSessionHandle().isEmpty()) {
      throw MillraceException.invalid("Session must be non-empty.");
    }
    if (r.getServerDef().getCluster().getJobCount() > 0) {
      openSessionInClusterOfItsOwn(r);
      return;
    }
    // A master that was restarted does not know its old sessions any more.
    for (Map.Entry<String, WorkerSession> e : sessions.entrySet()) {
      if (e.getValue().isOfEarlier(r.getMasterTask(), r.getMasterIncarnation())) {
        closeSession(e.getKey());
      }
    }
    sessions.computeIfAbsent(
        r.getSessionHandle(),
        h ->
            new WorkerSession(
                devices,
                home,
                r.getIsolateSessionState(),
                r.getMasterTask(),
                r.getMasterIncarnation(),
                platform.timers()));
  }

  /** A session in whose cluster this task has the name that the request gives it. */
  private void openSessionInClusterOfItsOwn(CreateWorkerSessionRequest r) {
    ServerDef server = r.getServerDef();
    TaskId named = new TaskId(server.getJobName(), server.getTaskIndex());
    ClusterSpec cluster = ClusterSpec.decode(server.getCluster());
    cluster.address(named);
    sessions.computeIfAbsent(
        r.getSessionHandle(),
        h ->
            new WorkerSession(
                devices.stream().map(d -> d.renamed(named.name())).toList(),
                new ClusterMembership(named.name(), propagated.apply(cluster)),
                r.getIsolateSessionState(),
                "",
                0,
                platform.timers()));
  }

  public void closeSession(String handle) {
    WorkerSession s = sessions.remove(handle);
    if (s != null) {
      s.close();
      if (s.member() != home) {
        s.member().peers().close();
      }
    }
  }

  private WorkerSession session(String handle, boolean own) {
    if (!own) {
      return legacy;
    }
    WorkerSession s = sessions.get(handle);
    if (s == null) {
      throw new MillraceException(
          Code.ABORTED,
          "Session handle is not found: "
              + handle
              + ". Possibly this worker (\""
              + name()
              + "\") just restarted.");
    }
    return s;
  }

  /** Compiles a partition whose nodes all have a full device of this task. */
  public String register(String sessionHandle, boolean ownSession, Graph graph) {
    WorkerSession session = session(sessionHandle, ownSession);
    String name = session.member().taskName();
    for (Node n : graph.nodes()) {
      DeviceSpec d = DeviceSpec.parse(n.device());
      if (!d.isFull() || !d.taskName().equals(name)) {
        throw MillraceException.invalid(
            "Node '%s' is placed on '%s', which is not a device of %s.",
            n.name(), n.device(), name);
      }
    }
    if (session.member() == home) {
      greetPartners(graph);
    }
    return session.register(graph, threads);
  }

  /** Has ways open to the tasks this graph exchanges tensors with, if that can be had soon. */
  private void greetPartners(Graph graph) {
    Set<String> partners = new HashSet<>();
    for (Node n : graph.nodes()) {
      switch (n.op().name()) {
        case "_Send", "_HostSend" -> partners.add(taskOf(n.stringAttr("recv_device")));
        case "_Recv", "_HostRecv" -> partners.add(taskOf(n.stringAttr("send_device")));
        default -> {}
      }
    }
    partners.remove(name());
    List<CompletableFuture<Void>> greetings = new ArrayList<>();
    for (String p : partners) {
      if (peers.outlet(p) == null) {
        greetings.add(peers.peer(p).greet(GREETING));
      }
    }
    try {
      platform
          .timers()
          .get(CompletableFuture.allOf(greetings.toArray(new CompletableFuture<?>[0])), GREETING);
    } catch (ExecutionException | TimeoutException e) {
      // Then tensors are asked for; whoever cannot be reached is named by the step.
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static String taskOf(String device) {
    return DeviceSpec.parse(device).taskName();
  }

  public void deregister(String sessionHandle, boolean ownSession, String graphHandle) {
    session(sessionHandle, ownSession).deregister(graphHandle);
  }

  // ---- steps ----

  /** Runs a part on the calling thread. */
  @Override
  public List<Tensor> run(RunGraph call, Cancellation cancellation) {
    WorkerSession session = session(call.sessionHandle(), call.ownSession());
    if (StepClock.current() != null || session.isOf(name())) {
      return runHere(call, cancellation);
    }
    // A part of another task's step is measured here; a step of this task, where it begins.
    StepClock part = history.beginPart();
    part.step(call.stepId());
    try {
      return part.call(() -> runHere(call, cancellation));
    } finally {
      history.endPart(part);
    }
  }

  private List<Tensor> runHere(RunGraph call, Cancellation cancellation) {
    WorkerSession session = session(call.sessionHandle(), call.ownSession());
    WorkerSession.RegisteredGraph graph = session.graph(call.graphHandle());
    StepRendezvous rendezvous = begin(call.stepId(), session);
    rendezvous.setRunning(true);
    Timers timers = platform.timers();
    StepTrace trace = call.report().isTraced() ? new StepTrace(timers) : null;
    Step step =
        new Step(
            call.stepId(),
            rendezvous,
            cancellation.withSameLease(),
            NO_ARGUMENTS,
            0,
            trace,
            null,
            timers);
    // A failure here ends this task's part only; the master decides about the others.
    Cancellation.Registration onCancel =
        cancellation.onCancel(() -> step.fail(cancellation.cause()));
    try (RunningSteps.Registration _ = graph.running().add(step)) {
      rendezvous.feed(call.feeds());
      graph.executor().run(step);
      if (step.failure() != null) {
        if (step.awaited() != null) {
          call.report().addAwaited(step.awaited().nodes(), step.awaited().tensors());
        }
        throw step.failure();
      }
      if (trace != null) {
        StepTimes.give(trace, call.report());
      }
      List<Tensor> results = rendezvous.take(call.fetchKeys());
      rendezvous.flush();
      return results;
    } catch (MillraceException e) {
      rendezvous.abort(e.asDerived());
      throw e;
    } finally {
      onCancel.close();
      rendezvous.setRunning(false);
      forgetIfEnded(call.stepId());
    }
  }

  /** Runs a step bit by bit; see {@link PartialSteps}. Waits for what is fetched. */
  public List<Tensor> runPartial(RunGraph call, boolean last, Cancellation cancellation) {
    // A step that is unknown must fail here, not on the thread that runs it.
    WorkerSession session = session(call.sessionHandle(), call.ownSession());
    session.graph(call.graphHandle());
    StepRendezvous rendezvous = begin(call.stepId(), session);
    return partialSteps.run(call, rendezvous, last, cancellation);
  }

  @Override
  public boolean forgetStep(long stepId) {
    StepRendezvous r = steps.get(stepId);
    if (r != null && r.isEmpty()) {
      ended.add(stepId);
      steps.remove(stepId);
      return true;
    }
    return r == null;
  }

  @Override
  public void deliver(long stepId, Rendezvous.Key key, Tensor value) {
    if (ended.contains(stepId)) {
      if (value != null) {
        Refs.release(value);
      }
      return;
    }
    StepRendezvous step = retain(stepId);
    step.deliver(key, value);
    release(stepId, step);
    forgetIfEnded(stepId);
  }

  /**
   * Forgets a step that was made anew by something that came while it ended. A step that ends is
   * noted as ended before it goes, so either this sees the note or the step goes after this.
   */
  private void forgetIfEnded(long stepId) {
    if (ended.contains(stepId) && steps.containsKey(stepId)) {
      cleanupStep(stepId);
    }
  }

  /** Another task is gone: steps that wait for something of it fail with {@code cause}. */
  public void taskLost(String taskName, MillraceException cause) {
    steps.values().forEach(s -> s.lost(taskName, cause));
    collectives.lost(taskName, cause);
  }

  /** There is a way to push to another task now. */
  public void taskLinked(String taskName, PushChannel outlet) {
    steps.values().forEach(s -> s.pushWaiting(taskName, outlet));
  }

  /** Discards steps that have not run for this long; those never begun, after a shorter limit. */
  public void sweepSteps(Duration age) {
    for (Map.Entry<Long, StepRendezvous> e : steps.entrySet()) {
      if (e.getValue().isAbandoned(age.toNanos(), limits.earlyAge().toNanos())) {
        cleanupStep(e.getKey());
      }
    }
  }

  /** The step's rendezvous, kept at least until {@link #release}. */
  private StepRendezvous retain(long stepId) {
    StepRendezvous r =
        steps.compute(
            stepId,
            (id, known) -> {
              StepRendezvous step =
                  known == null
                      ? new StepRendezvous(id, home, collectives, platform.timers())
                      : known;
              step.retain();
              return step;
            });
    MillraceException over = gone;
    if (over != null) {
      r.abort(over);
    }
    return r;
  }

  /** Discards a step that has not begun and is unused. */
  private void release(long stepId, StepRendezvous step) {
    if (step.release()) {
      steps.computeIfPresent(stepId, (id, s) -> s == step && s.isUnused() ? null : s);
    }
  }

  /** The rendezvous of a step of which this task runs a part. */
  private StepRendezvous begin(long stepId, WorkerSession session) {
    StepRendezvous step = retain(stepId);
    waitingEarly.addAndGet(-step.begin());
    step.release();
    step.setMember(session.member());
    return step;
  }

  /**
   * Gives a tensor of a step to another task, now or when it is sent; the cancellation withdraws
   * the request. A request may come before its step begins here. The number of such requests is
   * limited.
   */
  public void serveTensor(
      long stepId, Rendezvous.Key key, Rendezvous.Receiver receiver, Cancellation cancellation) {
    try {
      checkIncarnation("RecvTensor", key.sendDevice(), key.incarnation(), Code.ABORTED);
    } catch (MillraceException e) {
      receiver.failed(e);
      return;
    }
    StepRendezvous step = retain(stepId);
    if (step.addEarlyWaiter() && waitingEarly.incrementAndGet() > limits.early()) {
      removeEarlyWaiter(step);
      release(stepId, step);
      receiver.failed(
          new MillraceException(
              Code.RESOURCE_EXHAUSTED,
              "More than "
                  + limits.early()
                  + " calls of RecvTensor wait on "
                  + name()
                  + " for steps that have not begun there."
                  + ServerLimits.raisedBy("early")));
      return;
    }
    step.serve(key, receiver);
    release(stepId, step);
    forgetIfEnded(stepId);
    cancellation.onCancel(
        () -> {
          step.retain();
          if (step.withdraw(key, receiver)) {
            removeEarlyWaiter(step);
          }
          release(stepId, step);
        });
  }

  private void removeEarlyWaiter(StepRendezvous step) {
    if (step.removeEarlyWaiter()) {
      waitingEarly.decrementAndGet();
    }
  }

  private void checkIncarnation(String method, String device, long expected, Code code) {
    long own = deviceOf(device).incarnation();
    if (own != expected) {
      throw new MillraceException(
          code,
          method
              + " expects a different device incarnation: "
              + Long.toUnsignedString(expected)
              + " vs. "
              + Long.toUnsignedString(own)
              + ". Your worker job (\""
              + name()
              + "\") was probably restarted. Check your worker job for the reason why it was"
              + " restarted.");
    }
  }

  /** Gives a piece of a tensor that a collective of a step offers, now or when it is offered. */
  public CompletableFuture<RecvBufResponse> serveBuffer(RecvBufRequest r) {
    checkIncarnation("RecvBuf", r.getSrcDevice(), r.getSrcIncarnation(), Code.FAILED_PRECONDITION);
    if (ended.contains(r.getStepId())) {
      throw new MillraceException(
          Code.ABORTED,
          "Step "
              + r.getStepId()
              + " has ended on "
              + name()
              + " without offering '"
              + r.getBufRendezvousKey()
              + "': it failed there. The reason is in its log and at its client.");
    }
    StepRendezvous step = retain(r.getStepId());
    try {
      return step.buffers().take(r.getBufRendezvousKey(), r.getNumBytes());
    } finally {
      release(r.getStepId(), step);
    }
  }

  @Override
  public void cleanupStep(long stepId) {
    ended.add(stepId);
    StepRendezvous r = steps.remove(stepId);
    if (r == null && !partialSteps.isRunning(stepId)) {
      return;
    }
    MillraceException cleanup =
        new MillraceException(Code.ABORTED, "Cleanup " + stepId).asDerived();
    partialSteps.forget(stepId, cleanup);
    if (r != null) {
      waitingEarly.addAndGet(-r.begin());
      r.abort(cleanup);
    }
  }

  /** Clears resource containers; an empty list means the default one. */
  public void clear(List<String> containers) {
    List<String> names = containers.isEmpty() ? List.of("") : containers;
    for (Device d : devices) {
      names.forEach(d.resources()::clear);
    }
  }

  /** Ends everything: steps fail, sessions and state go. */
  public void close() {
    MillraceException over = new MillraceException(Code.UNAVAILABLE, name() + " is shutting down.");
    gone = over;
    for (StepRendezvous r : steps.values()) {
      r.abort(over);
    }
    steps.clear();
    collectives.close(over);
    List.copyOf(sessions.keySet()).forEach(this::closeSession);
    devices.forEach(d -> d.resources().closeAll());
  }

  // ---- the same, as a peer in this process ----

  @Override
  public CompletableFuture<List<DeviceAttributes>> status(Duration timeout) {
    return CompletableFuture.completedFuture(attributes());
  }

  @Override
  public CompletableFuture<Void> greet(Duration timeout) {
    return CompletableFuture.completedFuture(null);
  }

  @Override
  public CompletableFuture<Void> createSession(CreateWorkerSessionRequest r, Duration timeout) {
    return now(
        () -> {
          openSession(r);
          return null;
        });
  }

  @Override
  public CompletableFuture<Void> deleteSession(String handle, Duration timeout) {
    return now(
        () -> {
          closeSession(handle);
          return null;
        });
  }

  @Override
  public CompletableFuture<String> registerGraph(String session, Graph graph) {
    return now(() -> register(session, true, graph));
  }

  /** Runs on the calling thread: the future is complete when this returns. */
  @Override
  public CompletableFuture<List<Tensor>> runGraph(RunGraph call, Cancellation cancellation) {
    return now(() -> run(call, cancellation));
  }

  @Override
  public CompletableFuture<List<Tensor>> runPartialGraph(
      RunGraph call, boolean last, Cancellation cancellation) {
    return now(() -> runPartial(call, last, cancellation));
  }

  @Override
  public CompletableFuture<Void> cleanupAll(List<String> containers, Duration timeout) {
    return now(
        () -> {
          clear(containers);
          return null;
        });
  }

  @Override
  public void recvTensor(
      long stepId, Rendezvous.Key key, Cancellation cancellation, Rendezvous.Receiver receiver) {
    serveTensor(stepId, key, receiver, cancellation);
  }

  @Override
  public CompletableFuture<RecvBufResponse> recvBuffer(
      RecvBufRequest r, Duration timeout, Cancellation cancellation) {
    return until(cancellation, () -> serveBuffer(r));
  }

  @Override
  public CompletableFuture<CompleteGroupResponse> completeGroup(
      CompleteGroupRequest r, Duration timeout, Cancellation cancellation) {
    return until(cancellation, () -> collectives.join(r));
  }

  @Override
  public CompletableFuture<CompleteInstanceResponse> completeInstance(
      CompleteInstanceRequest r, Duration timeout, Cancellation cancellation) {
    return until(cancellation, () -> collectives.instance(r));
  }

  @Override
  public CompletableFuture<GetStepSequenceResponse> stepSequence(
      GetStepSequenceRequest r, Duration timeout) {
    return now(() -> collectives.answer(r));
  }

  /** What {@code body} begins, failed by the cancellation. */
  private static <T> CompletableFuture<T> until(
      Cancellation cancellation, java.util.function.Supplier<CompletableFuture<T>> body) {
    try {
      CompletableFuture<T> future = body.get();
      Cancellation.Registration onCancel =
          cancellation.onCancel(() -> future.completeExceptionally(cancellation.cause()));
      future.whenComplete((r, e) -> onCancel.close());
      return future;
    } catch (MillraceException e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  private static <T> CompletableFuture<T> now(java.util.function.Supplier<T> body) {
    try {
      return CompletableFuture.completedFuture(body.get());
    } catch (Throwable t) {
      return CompletableFuture.failedFuture(MillraceException.of(t));
    }
  }
}
