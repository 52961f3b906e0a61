package dev.millrace.cluster;

import dev.millrace.base.MillraceException;
import dev.millrace.base.context.Context;
import dev.millrace.base.steps.ProcessSampler;
import dev.millrace.cluster.http2.GrpcMethods;
import dev.millrace.cluster.link.Link;
import dev.millrace.cluster.master.Master;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.ServerLimits;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.cluster.transport.GrpcServer;
import dev.millrace.cluster.transport.HealthEndpoint;
import dev.millrace.cluster.transport.TaskAdmission;
import dev.millrace.cluster.worker.Worker;
import dev.millrace.graph.Graph;
import dev.millrace.graph.OpRegistry;
import dev.millrace.graph.resource.VariableStore;
import dev.millrace.net.Admission;
import dev.millrace.net.Credential;
import dev.millrace.proto.ConfigProto;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
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

  /** How often a server that everybody can reach says so. */
  private static final Duration WARNING = Duration.ofHours(1);

  /** The servers of a context by target, so that sessions on them need no network. */
  private static final Context.Part<Map<String, Server>> RUNNING =
      Context.Part.of(_ -> new ConcurrentHashMap<>());

  private final Context context = Context.current();
  private final ClusterSpec cluster;
  private final TaskId id;
  private final Task task;
  private final HealthEndpoint health =
      new HealthEndpoint(Set.of("", GrpcMethods.MASTER, GrpcMethods.WORKER));

  /** TensorFlow's services; null in a server that admits its job only. */
  private final GrpcServer listener;

  private final String target;
  private final CountDownLatch stopped = new CountDownLatch(1);

  /** Starts task {@code task} of {@code cluster}. A port of 0 takes any that is free. */
  public static Server start(ClusterSpec cluster, TaskId task, OpRegistry registry) {
    return start(cluster, task, registry, 1);
  }

  /**
   * Starts a task in a context: with its settings, limits, compute threads, memory and gauges. The
   * other methods start one in the context of the calling thread.
   */
  public static Server start(
      ClusterSpec cluster, TaskId task, OpRegistry registry, Context context) {
    return context.call(() -> start(cluster, task, registry));
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

  /** Starts a server with TensorFlow's {@code default_session_config} and a store. */
  public static Server start(
      ClusterSpec cluster,
      TaskId task,
      OpRegistry registry,
      ConfigProto sessions,
      VariableStore store) {
    return new Server(cluster, task, registry, sessions, "", store);
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
    this.id = task;
    cluster = spec;
    InetSocketAddress address =
        TaskAdmission.listenAddress(context.config(), task, spec.address(task));
    Admission admission = TaskAdmission.of(context.config(), task, address);
    // With port 0 the own address is known only once listening, and nobody else can know it.
    this.task = new Task(spec, task, registry, sessions, leader, store, address, admission);
    if (admission.closed()) {
      listener = null;
    } else {
      try {
        listener =
            GrpcServer.start(
                this.task.masterEndpoint(),
                this.task.workerEndpoint(),
                this.task.links(),
                health,
                this.task.factsEndpoint(),
                ServerLimits.of(context.config()),
                this.task.calls());
      } catch (MillraceException e) {
        this.task.close();
        throw e;
      }
    }
    this.task.links().links().start();
    ProcessSampler.start(context);
    int port = this.task.links().links().port();
    target = "grpc://" + host(spec.address(task)) + ":" + port;
    context.get(RUNNING).put(target, this);
    for (String job : cluster.jobs()) {
      LOG.info(
          "Initialize GrpcChannelCache for job {} -> {{}}",
          job,
          cluster.tasks(job).entrySet().stream()
              .map(e -> e.getKey() + " -> " + e.getValue())
              .collect(Collectors.joining(", ")));
    }
    LOG.info("Started server with target: {}", target);
    if (admission.closed()) {
      LOG.info("{} admits {} only.", task, admitted(admission));
    } else if (!address.getAddress().isLoopbackAddress()) {
      String warning = openness(task, address.getAddress(), port);
      LOG.warn(warning);
      this.task.links().links().every(WARNING, () -> LOG.warn(warning));
    }
  }

  private static String admitted(Admission admission) {
    Credential own = admission.credential();
    return own == null
        ? "processes of its own user on this host"
        : "processes with a credential of the job "
            + own.job()
            + ", and those of its own user on this host";
  }

  /** What is said by a server that others than this machine can reach. */
  static String openness(TaskId task, InetAddress address, int port) {
    return "%s listens on %s, without credential or encryption (--insecure): anybody"
            .formatted(
                task,
                address.isAnyLocalAddress()
                    ? "port " + port + " of all network interfaces"
                    : address.getHostAddress() + ":" + port)
        + " who can reach it can run graphs, change variables, and read and write files as this"
        + " user. Make a credential with 'millrace credentials new FOLDER' and use it with"
        + " --credentials FOLDER; see docs/security.md.";
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
    return context.call(
        () ->
            new ClusterSession(
                graph,
                target,
                ConfigProto.newBuilder().addAllDeviceFilters(List.of(deviceFilters)).build()));
  }

  /** Which task this is. */
  public TaskId task() {
    return id;
  }

  /** The cluster it is a task of. */
  public ClusterSpec cluster() {
    return cluster;
  }

  /** How many sessions of clients and of masters, steps and links there are, for leak checks. */
  int held() {
    return task.held() + task.links().links().all().size();
  }

  /** Whether masters of other tasks have sessions or graphs here. */
  public boolean servesOthers() {
    return task.worker().servesOthers();
  }

  /** The task's worker: part of the engine, for tests. */
  @SuppressWarnings("exports")
  public Worker worker() {
    return task.worker();
  }

  /** The links to other processes, for tests. */
  List<Link> links() {
    return task.links().links().all();
  }

  Master master() {
    return task.master();
  }

  /** The server with this target in the context of the calling thread, or null. */
  static Server inThisContext(String target) {
    return Context.current().get(RUNNING).get(target);
  }

  /** Waits until the server is stopped. */
  public void join() throws InterruptedException {
    stopped.await();
  }

  /** Ends sessions and steps, gives calls under way a moment, and frees the port. */
  @Override
  public void close() {
    if (context.get(RUNNING).remove(target, this)) {
      health.stopServing();
      task.endSessions();
      if (listener != null) {
        listener.drain(300);
      }
      task.close(listener == null ? () -> {} : listener::close);
      stopped.countDown();
    }
  }
}
