package dev.millrace.cluster;

import dev.millrace.base.MillraceException;
import dev.millrace.base.Platform;
import dev.millrace.base.TaskThreads;
import dev.millrace.base.context.Context;
import dev.millrace.cluster.master.Master;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.ServerLimits;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.cluster.transport.FactsEndpoint;
import dev.millrace.cluster.transport.LinkEndpoint;
import dev.millrace.cluster.transport.MasterEndpoint;
import dev.millrace.cluster.transport.TaskAdmission;
import dev.millrace.cluster.transport.TaskPeers;
import dev.millrace.cluster.transport.WorkerEndpoint;
import dev.millrace.cluster.worker.Worker;
import dev.millrace.graph.Graph;
import dev.millrace.graph.OpRegistry;
import dev.millrace.graph.resource.VariableStore;
import dev.millrace.net.Admission;
import dev.millrace.proto.ConfigProto;
import dev.millrace.runtime.device.DeviceKinds;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;

/**
 * A task of a cluster: devices, a worker, a master, and the links to other tasks. It runs in the
 * context of the thread that starts it. A {@link Server} is a task with TensorFlow's services in
 * front of it.
 *
 * <p>Threading: any thread.
 */
public final class Task implements AutoCloseable {
  private final TaskId id;
  private final String target;

  /** Serve gRPC calls and run parts of steps. */
  private final TaskThreads calls;

  /** Read links, serve calls over them, and handle the answers of peers. */
  private final TaskThreads threads;

  private final TaskPeers peers;
  private final Worker worker;
  private final LinkEndpoint links;
  private final Master master;
  private final MasterEndpoint masterEndpoint;
  private final WorkerEndpoint workerEndpoint;
  private final FactsEndpoint factsEndpoint;

  /**
   * Starts a task that speaks to others over links only. It accepts them at its address in the
   * cluster spec, and no TensorFlow process can be part of its cluster.
   */
  public static Task start(
      ClusterSpec cluster, TaskId id, OpRegistry registry, VariableStore store) {
    InetSocketAddress address =
        TaskAdmission.listenAddress(Context.current().config(), id, cluster.address(id));
    Task task =
        new Task(
            cluster,
            id,
            registry,
            ConfigProto.getDefaultInstance(),
            "",
            store,
            address,
            TaskAdmission.of(Context.current().config(), id, address),
            false);
    task.links.links().start();
    return task;
  }

  /**
   * A task that accepts nothing before its links are started, so that others' protocols can be
   * added. One that admits its job only has links only: TensorFlow's processes cannot prove who
   * they are.
   */
  Task(
      ClusterSpec cluster,
      TaskId id,
      OpRegistry registry,
      ConfigProto sessions,
      String leader,
      VariableStore store,
      InetSocketAddress address,
      Admission admission) {
    this(cluster, id, registry, sessions, leader, store, address, admission, !admission.closed());
  }

  private Task(
      ClusterSpec cluster,
      TaskId id,
      OpRegistry registry,
      ConfigProto sessions,
      String leader,
      VariableStore store,
      InetSocketAddress address,
      Admission admission,
      boolean byGrpc) {
    Context context = Context.current();
    Platform platform = context.platform();
    this.id = id;
    this.target = "grpc://" + cluster.address(id);
    int processors = Runtime.getRuntime().availableProcessors();
    calls = platform.threads("millrace-" + id + "-", Math.max(16, 4 * processors));
    threads = platform.threads("millrace-" + id + "-link-", Math.max(32, 4 * processors));
    peers = new TaskPeers(cluster, threads, byGrpc);
    worker =
        new Worker(
            id,
            DeviceKinds.find(Server.class.getClassLoader(), sessions.getDeviceCountMap()),
            store,
            leader.isEmpty() ? cluster.collectiveLeader().name() : leader,
            peers,
            calls,
            platform);
    peers.setSelf(worker);
    try {
      links =
          new LinkEndpoint(
              cluster, cluster.address(id), address, admission, worker, threads, platform);
    } catch (MillraceException e) {
      worker.close();
      threads.close();
      calls.close();
      throw e;
    }
    peers.setLinks(links);
    worker.setPropagated(peers::propagated);
    master = new Master(cluster, worker, peers, peers::propagated, registry, platform);
    if (sessions.getOperationTimeoutInMs() > 0) {
      master.limitSteps(Duration.ofMillis(sessions.getOperationTimeoutInMs()));
    }
    ServerLimits limits = ServerLimits.of(context.config());
    masterEndpoint = new MasterEndpoint(master, limits, platform.timers());
    workerEndpoint = new WorkerEndpoint(worker, registry, limits, platform.timers());
    factsEndpoint = new FactsEndpoint(master, links.links());
    links.serve(master, masterEndpoint, workerEndpoint, factsEndpoint);
  }

  /** Which task this is. */
  public TaskId id() {
    return id;
  }

  /** The task's worker: part of the engine, for tests. */
  @SuppressWarnings("exports")
  public Worker worker() {
    return worker;
  }

  Master master() {
    return master;
  }

  LinkEndpoint links() {
    return links;
  }

  MasterEndpoint masterEndpoint() {
    return masterEndpoint;
  }

  WorkerEndpoint workerEndpoint() {
    return workerEndpoint;
  }

  FactsEndpoint factsEndpoint() {
    return factsEndpoint;
  }

  TaskThreads calls() {
    return calls;
  }

  /**
   * A session under this task's master. Only tasks that match one of {@code deviceFilters} take
   * part; without any, all do.
   */
  public ClusterSession session(Graph graph, String... deviceFilters) {
    ConfigProto config =
        ConfigProto.newBuilder().addAllDeviceFilters(List.of(deviceFilters)).build();
    return new ClusterSession(
        graph, master, target, ClusterSessionOptions.DEFAULT.withConfig(config));
  }

  /** How many sessions of clients and of masters, and steps there are, for leak checks. */
  public int held() {
    return master.sessionCount() + worker.sessionCount() + worker.stepCount();
  }

  /** Ends sessions, so that clients and masters learn why, before {@link #close}. */
  void endSessions() {
    master.closeAll();
  }

  /** Ends sessions, steps and links. */
  @Override
  public void close() {
    close(() -> {});
  }

  /** The same; {@code endCalls} ends those that came otherwise than over links. */
  void close(Runnable endCalls) {
    master.closeAll();
    worker.close();
    endCalls.run();
    links.close();
    peers.close();
    threads.close();
    calls.close();
  }
}
