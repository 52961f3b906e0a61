package dev.millrace.cluster.master;

import dev.millrace.base.Cancellation;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Platform;
import dev.millrace.cluster.peer.WorkerPeer;
import dev.millrace.cluster.peer.WorkerPeers;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.cluster.worker.Worker;
import dev.millrace.graph.Graph;
import dev.millrace.graph.OpRegistry;
import dev.millrace.graph.name.DeviceSpec;
import dev.millrace.proto.CreateWorkerSessionRequest;
import dev.millrace.proto.DeviceAttributes;
import dev.millrace.proto.ServerDef;
import dev.millrace.runtime.device.Device;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * Opens and keeps sessions on a cluster for clients in this process and others.
 *
 * <p>Threading: any thread.
 */
public final class Master {
  private final ClusterSpec cluster;
  private final Worker self;
  private final WorkerPeers peers;
  private final Function<ClusterSpec, WorkerPeers> propagated;
  private final OpRegistry registry;
  private final Platform platform;
  private final Map<String, MasterSession> sessions = new ConcurrentHashMap<>();
  private final LongAdder steps = new LongAdder();
  private volatile Duration stepTimeout;

  /**
   * The master of a task.
   *
   * @param propagated how the tasks of a cluster that comes with a session are reached
   */
  public Master(
      ClusterSpec cluster,
      Worker self,
      WorkerPeers peers,
      Function<ClusterSpec, WorkerPeers> propagated,
      OpRegistry registry,
      Platform platform) {
    this.platform = platform;
    this.propagated = propagated;
    this.cluster = cluster;
    this.self = self;
    this.peers = peers;
    this.registry = registry;
  }

  /** Sets the time limit of steps whose client names none; null for no limit. */
  public void limitSteps(Duration timeout) {
    stepTimeout = timeout;
  }

  public OpRegistry registry() {
    return registry;
  }

  public int sessionCount() {
    return sessions.size();
  }

  /** How many steps the sessions of this master have run, those closed meanwhile included. */
  public long stepCount() {
    return steps.sum();
  }

  /** The devices of this process' own task, as GetStatus tells them. */
  public List<DeviceAttributes> ownDevices() {
    return self.attributes();
  }

  /** The devices of the other tasks that answer within {@code patience}. */
  public List<DeviceAttributes> otherDevices(Duration patience) {
    List<CompletableFuture<List<DeviceAttributes>>> calls =
        cluster.tasks().stream()
            .filter(t -> !t.name().equals(self.name()))
            .map(t -> peers.peer(t.name()).status(patience).exceptionally(e -> List.of()))
            .toList();
    return calls.stream().flatMap(c -> c.join().stream()).toList();
  }

  /**
   * The tasks that do not answer within {@code limit}, with the reason; see {@link
   * dev.millrace.runtime.Session#silentTasks}.
   */
  public Map<String, String> silentTasks(Collection<String> names, Duration limit) {
    Map<TaskId, CompletableFuture<?>> probes = new LinkedHashMap<>();
    for (TaskId task : cluster.tasks()) {
      if (!task.name().equals(self.name())
          && (names.isEmpty() || names.contains(task.toString()))) {
        probes.put(task, peers.probe(task.name(), limit));
      }
    }
    Map<String, String> silent = new LinkedHashMap<>();
    probes.forEach(
        (task, probe) -> {
          try {
            probe.join();
          } catch (CompletionException e) {
            silent.put(
                task.toString(),
                cluster.address(task)
                    + ": "
                    + TaskDiscovery.stage(MillraceException.of(e.getCause()), limit));
          }
        });
    return silent;
  }

  /** Opens a session over all tasks that the settings allow, once they have answered. */
  public MasterSession create(
      Consumer<Graph> addNodes, SessionSettings settings, Cancellation cancellation) {
    if (settings.cluster() == null) {
      return create(addNodes, settings, cluster, self.name(), peers, cancellation);
    }
    ClusterSpec named = settings.cluster();
    TaskId own =
        named.tasks().stream()
            .filter(t -> named.address(t).equals(settings.target()))
            .findFirst()
            .orElseThrow(
                () ->
                    MillraceException.invalid(
                        "The session was opened at %s, but that is no task of its cluster_def,"
                            + " whose tasks are at %s. The master must be one of them, under the"
                            + " same address.",
                        settings.target(), named.tasks().stream().map(named::address).toList()));
    WorkerPeers connected = propagated.apply(named);
    try {
      return create(addNodes, settings, named, own.name(), connected, cancellation);
    } catch (MillraceException e) {
      connected.close();
      throw e;
    }
  }

  private MasterSession create(
      Consumer<Graph> addNodes,
      SessionSettings settings,
      ClusterSpec cluster,
      String ownName,
      WorkerPeers peers,
      Cancellation cancellation) {
    Graph graph = new Graph(registry);
    addNodes.accept(graph);
    List<WorkerPeer> workers =
        cluster.tasks().stream()
            .filter(t -> settings.allows(t.name()) || t.name().equals(ownName))
            .map(t -> peers.peer(t.name()))
            .toList();
    Map<WorkerPeer, List<DeviceAttributes>> present =
        TaskDiscovery.call(workers, settings.startTimeout(), platform.timers(), cancellation);
    List<Device> devices = new ArrayList<>();
    present.forEach((w, attributes) -> attributes.forEach(a -> devices.add(device(w, a))));
    String handle = String.format("%016x", platform.secureRandom().nextLong());
    MasterSession session =
        new MasterSession(
            handle,
            graph,
            settings,
            workers,
            List.copyOf(devices),
            devices.stream().filter(d -> d.spec().taskName().equals(ownName)).findFirst().get(),
            self.collectives().steps(),
            steps,
            platform);
    session.limitSteps(stepTimeout);
    if (peers != this.peers) {
      session.whenClosed(peers::close);
    }
    session.place();
    try {
      createOnWorkers(handle, present, devices, ownName, settings);
      cancellation.check();
    } catch (MillraceException e) {
      session.close();
      throw e;
    }
    sessions.put(handle, session);
    return session;
  }

  /** A peer that calls itself otherwise than the cluster does is known by the cluster's name. */
  private Device device(WorkerPeer w, DeviceAttributes a) {
    for (Device own : self.devices()) {
      if (w == self && own.name().equals(a.getName())) {
        return own;
      }
    }
    DeviceSpec task = DeviceSpec.parse(w.name());
    DeviceSpec d = DeviceSpec.parse(a.getName());
    DeviceSpec named = new DeviceSpec(task.job(), task.replica(), task.task(), d.type(), d.index());
    return Device.remote(named.toString(), a.getIncarnation());
  }

  private void createOnWorkers(
      String handle,
      Map<WorkerPeer, List<DeviceAttributes>> present,
      List<Device> devices,
      String ownName,
      SessionSettings settings) {
    CreateWorkerSessionRequest.Builder request =
        CreateWorkerSessionRequest.newBuilder()
            .setSessionHandle(handle)
            .setIsolateSessionState(settings.isolated())
            .setMasterTask(ownName)
            .setMasterIncarnation(self.devices().getFirst().incarnation());
    ServerDef.Builder server = ServerDef.newBuilder().setProtocol("grpc");
    if (settings.cluster() != null) {
      server.setCluster(settings.cluster().encode());
      Iterator<Device> named = devices.iterator();
      present
          .values()
          .forEach(
              list ->
                  list.forEach(
                      a ->
                          request.addClusterDeviceAttributes(
                              a.toBuilder().setName(named.next().name()))));
    }
    Map<WorkerPeer, CompletableFuture<Void>> calls = new LinkedHashMap<>();
    for (WorkerPeer w : present.keySet()) {
      DeviceSpec d = DeviceSpec.parse(w.name());
      request.setServerDef(server.setJobName(d.job()).setTaskIndex(d.task()));
      calls.put(w, w.createSession(request.build(), Duration.ofSeconds(60)));
    }
    calls.forEach(
        (w, f) ->
            MasterSession.await(
                f, Duration.ofSeconds(70), "CreateWorkerSession", w, platform.timers()));
  }

  /** The session with this handle. */
  public MasterSession session(String handle) {
    MasterSession s = sessions.get(handle);
    if (s == null) {
      throw new MillraceException(Code.ABORTED, "Session " + handle + " is not found.");
    }
    return s;
  }

  public void close(String handle) {
    MasterSession s = sessions.remove(handle);
    if (s == null) {
      throw new MillraceException(
          Code.ABORTED,
          "Session " + handle + " is not found. Possibly, this master has restarted.");
    }
    s.close();
  }

  /** Closes every session and clears containers on the tasks the filters allow. */
  public void reset(List<String> containers, List<String> deviceFilters) {
    closeAll();
    List<DeviceSpec> filters = deviceFilters.stream().map(DeviceSpec::parse).toList();
    SessionSettings settings =
        new SessionSettings(
            filters, false, false, false, SessionSettings.startTimeoutOfContext(), null, "", 0, 0);
    Map<WorkerPeer, CompletableFuture<Void>> calls = new LinkedHashMap<>();
    cluster.tasks().stream()
        .filter(t -> settings.allows(t.name()) || t.name().equals(self.name()))
        .map(t -> peers.peer(t.name()))
        .forEach(w -> calls.put(w, w.cleanupAll(containers, Duration.ofSeconds(60))));
    calls.forEach(
        (w, f) ->
            MasterSession.await(f, Duration.ofSeconds(70), "CleanupAll", w, platform.timers()));
  }

  public void closeAll() {
    List.copyOf(sessions.keySet())
        .forEach(
            h -> {
              MasterSession s = sessions.remove(h);
              if (s != null) {
                s.close();
              }
            });
  }
}
