package dev.millrace.cluster;

import dev.millrace.base.MillraceException;
import dev.millrace.base.Platform;
import dev.millrace.base.config.Config;
import dev.millrace.cluster.master.Master;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.ServerLimits;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.cluster.transport.FactsEndpoint;
import dev.millrace.cluster.transport.GrpcPeers;
import dev.millrace.cluster.transport.GrpcServer;
import dev.millrace.cluster.transport.HealthEndpoint;
import dev.millrace.cluster.transport.LinkEndpoint;
import dev.millrace.cluster.transport.MasterEndpoint;
import dev.millrace.cluster.transport.WorkerEndpoint;
import dev.millrace.cluster.worker.Worker;
import dev.millrace.graph.Graph;
import dev.millrace.graph.OpRegistry;
import dev.millrace.graph.resource.VariableStore;
import dev.millrace.proto.ConfigProto;
import dev.millrace.runtime.device.DeviceKinds;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * This process as a task of a cluster: it holds devices, runs its parts of other tasks' steps, and
 * accepts sessions. To a TensorFlow process it is one of its own.
 *
 * <p>Threading: any thread.
 */
public final class Server implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Server.class);

  /** The servers of this process by target, so that sessions on them need no network. */
  private static final Map<String, Server> RUNNING = new ConcurrentHashMap<>();

  private final ClusterSpec cluster;
  private final TaskId task;

  /** Serve gRPC calls. */
  private final TaskThreads calls;

  /** Read links, serve calls over them, and handle the answers of peers. */
  private final TaskThreads threads;

  private final GrpcPeers peers;
  private final Worker worker;
  private final LinkEndpoint links;
  private final Master master;
  private final HealthEndpoint health = new HealthEndpoint();
  private final GrpcServer listener;
  private final String target;
  private final CountDownLatch stopped = new CountDownLatch(1);

  /** Starts task {@code task} of {@code cluster}. A port of 0 takes any that is free. */
  public static Server start(ClusterSpec cluster, TaskId task, OpRegistry registry) {
    return start(cluster, task, registry, 1);
  }

  /** Starts a task with several CPU devices. */
  public static Server start(
      ClusterSpec cluster, TaskId task, OpRegistry registry, int cpuDevices) {
    return new Server(
        cluster,
        task,
        registry,
        ConfigProto.newBuilder().putDeviceCount("CPU", cpuDevices).build(),
        "",
        VariableStore.MEMORY);
  }

  /**
   * Starts a server with TensorFlow's {@code default_session_config}. Two fields are used: {@code
   * device_count} sets the number of devices of each kind. A step whose client names no timeout
   * fails with DEADLINE_EXCEEDED after {@code operation_timeout_in_ms}.
   */
  public static Server start(
      ClusterSpec cluster, TaskId task, OpRegistry registry, ConfigProto sessions) {
    return new Server(cluster, task, registry, sessions, "", VariableStore.MEMORY);
  }

  /**
   * Starts a server whose variables, queues and other state {@code store} keeps. Each step is
   * committed there before the server acknowledges it.
   */
  public static Server start(
      ClusterSpec cluster, TaskId task, OpRegistry registry, VariableStore store) {
    return new Server(cluster, task, registry, ConfigProto.getDefaultInstance(), "", store);
  }

  /**
   * Starts a task with the given leader of TensorFlow's collective ops. Its name corresponds to
   * {@code collective_group_leader} of TensorFlow's servers. By default it is {@link
   * ClusterSpec#collectiveLeader}.
   */
  public static Server startLedBy(
      String collectiveLeader, ClusterSpec cluster, TaskId task, OpRegistry registry) {
    return new Server(
        cluster,
        task,
        registry,
        ConfigProto.getDefaultInstance(),
        collectiveLeader,
        VariableStore.MEMORY);
  }

  /** A cluster of one task on a free port of the loopback address. */
  public static Server createLocalServer(OpRegistry registry) {
    return createLocalServer(registry, ConfigProto.getDefaultInstance());
  }

  /** Starts a local server with a {@code default_session_config}. */
  public static Server createLocalServer(OpRegistry registry, ConfigProto sessions) {
    ClusterSpec alone = ClusterSpec.of(Map.of("local", List.of("localhost:0")));
    return start(alone, new TaskId("local", 0), registry, sessions);
  }

  private Server(
      ClusterSpec spec,
      TaskId task,
      OpRegistry registry,
      ConfigProto sessions,
      String leader,
      VariableStore store) {
    this.task = task;
    Platform platform = Platform.system();
    InetSocketAddress address = listenAddress(task, spec.address(task));
    int processors = Runtime.getRuntime().availableProcessors();
    calls = new TaskThreads("millrace-" + task + "-", Math.max(16, 4 * processors));
    threads = new TaskThreads("millrace-" + task + "-link-", Math.max(32, 4 * processors));
    String host = host(spec.address(task));
    // With port 0 the own address is known only once listening, and nobody else can know it.
    cluster = spec;
    peers = new GrpcPeers(cluster, threads);
    worker =
        new Worker(
            task,
            DeviceKinds.find(Server.class.getClassLoader(), sessions.getDeviceCountMap()),
            store,
            leader.isEmpty() ? spec.collectiveLeader().name() : leader,
            peers,
            calls,
            platform);
    peers.setSelf(worker);
    links =
        new LinkEndpoint(
            cluster, spec.address(task), address.getAddress(), worker, threads, platform);
    peers.setLinks(links);
    worker.setPropagated(peers::propagated);
    master = new Master(cluster, worker, peers, peers::propagated, registry, platform);
    if (sessions.getOperationTimeoutInMs() > 0) {
      master.limitSteps(Duration.ofMillis(sessions.getOperationTimeoutInMs()));
    }
    ServerLimits limits = ServerLimits.of(Config.ofProcess());
    MasterEndpoint masterEndpoint = new MasterEndpoint(master, limits, platform.timers());
    WorkerEndpoint workerEndpoint = new WorkerEndpoint(worker, registry, limits, platform.timers());
    links.serve(master, masterEndpoint, workerEndpoint);
    try {
      listener =
          GrpcServer.start(
              task.toString(),
              address,
              masterEndpoint,
              workerEndpoint,
              links,
              health,
              new FactsEndpoint(master),
              limits,
              calls);
    } catch (MillraceException e) {
      links.close();
      threads.close();
      calls.close();
      throw e;
    }
    target = "grpc://" + host + ":" + listener.port();
    RUNNING.put(target, this);
    for (String job : cluster.jobs()) {
      LOG.info(
          "Initialize GrpcChannelCache for job {} -> {{}}",
          job,
          cluster.tasks(job).entrySet().stream()
              .map(e -> e.getKey() + " -> " + e.getValue())
              .collect(Collectors.joining(", ")));
    }
    LOG.info("Started server with target: {}", target);
    if (!address.getAddress().isLoopbackAddress()) {
      LOG.warn(openness(task, listener.port()));
    }
  }

  /** What is said by a server that others than this machine can reach. */
  static String openness(TaskId task, int port) {
    return "%s listens on port %d of all network interfaces, without password or encryption: anybody"
            .formatted(task, port)
        + " who can reach it can run graphs, change variables, and read and write files as this"
        + " user. Restrict it by a firewall or a private network, or give the task a loopback"
        + " address (localhost) in the cluster spec; see docs/security.md.";
  }

  /** Loopback stays loopback; any other name means all interfaces, as tasks reach each other. */
  static InetSocketAddress listenAddress(TaskId task, String address) {
    int port = Integer.parseInt(address.substring(address.lastIndexOf(':') + 1));
    try {
      InetAddress host = InetAddress.getByName(host(address));
      return host.isLoopbackAddress()
          ? new InetSocketAddress(host, port)
          : new InetSocketAddress(InetAddress.getByName("0.0.0.0"), port);
    } catch (UnknownHostException e) {
      throw MillraceException.invalid(
          "%s: the host of its address '%s' does not resolve. Correct the cluster spec or the name"
              + " service.",
          task, address);
    }
  }

  private static String host(String address) {
    return address.substring(0, address.lastIndexOf(':'));
  }

  /** What clients open a session on: {@code grpc://host:port}. */
  public String target() {
    return target;
  }

  /**
   * A session under this server's master. Only tasks that match one of {@code deviceFilters}, such
   * as {@code /job:ps}, take part and are waited for; without any, all do.
   */
  public ClusterSession session(Graph graph, String... deviceFilters) {
    return new ClusterSession(
        graph,
        target,
        ConfigProto.newBuilder().addAllDeviceFilters(List.of(deviceFilters)).build());
  }

  /** Which task this is. */
  public TaskId task() {
    return task;
  }

  /** The cluster it is a task of. */
  public ClusterSpec cluster() {
    return cluster;
  }

  /** How many sessions of clients and of masters, steps and links there are, for leak checks. */
  int held() {
    return master.sessionCount()
        + worker.sessionCount()
        + worker.stepCount()
        + links.links().all().size();
  }

  /** The task's worker, for status. */
  public Worker worker() {
    return worker;
  }

  Master master() {
    return master;
  }

  /** The server of this process with this target, or null. */
  static Server inThisProcess(String target) {
    return RUNNING.get(target);
  }

  /** Waits until the server is stopped. */
  public void join() throws InterruptedException {
    stopped.await();
  }

  /** Ends sessions and steps, gives calls under way a moment, and frees the port. */
  @Override
  public void close() {
    if (RUNNING.remove(target, this)) {
      health.stopServing();
      master.closeAll();
      listener.drain(300);
      worker.close();
      listener.close();
      links.close();
      peers.close();
      threads.close();
      calls.close();
      stopped.countDown();
    }
  }
}
