package dev.millrace.cluster.transport;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.millrace.base.Cancellation;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Platform;
import dev.millrace.base.Timers;
import dev.millrace.base.config.ClusterSettings;
import dev.millrace.base.context.Context;
import dev.millrace.cluster.http2.GrpcMethods;
import dev.millrace.cluster.http2.HandedConnections;
import dev.millrace.cluster.link.ClientStep;
import dev.millrace.cluster.link.Greeting;
import dev.millrace.cluster.link.Link;
import dev.millrace.cluster.link.LinkService;
import dev.millrace.cluster.link.Links;
import dev.millrace.cluster.link.TaskIdentity;
import dev.millrace.cluster.master.Master;
import dev.millrace.cluster.master.MasterSession;
import dev.millrace.cluster.peer.StepParts;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.ServerLimits;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.cluster.worker.Worker;
import dev.millrace.graph.name.DeviceSpec;
import dev.millrace.net.Admission;
import dev.millrace.net.Connection;
import dev.millrace.net.Endpoint;
import dev.millrace.net.PeerIdentity;
import dev.millrace.proto.ClusterDef;
import dev.millrace.proto.GetStatusResponse;
import dev.millrace.tensor.Tensor;
import io.grpc.ServerServiceDefinition;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A task's side of its links: it greets, is greeted, and serves what comes over them from its
 * worker and its master.
 *
 * <p>Threading: any thread.
 */
public final class LinkEndpoint implements LinkService, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(LinkEndpoint.class);
  private static final Duration SWEEP = Duration.ofSeconds(1);

  /** What is left of a step that nobody has run or cleaned up for this long goes. */
  private static final Duration STEP_AGE = Duration.ofMinutes(10);

  private final ClusterSpec cluster;
  private final String address;
  private final Worker worker;
  private final Executor threads;
  private final Platform platform;
  private final Links links;
  private Master master;
  private Leases masterLeases;
  private Leases workerLeases;
  private final ServerLimits limits = ServerLimits.of(Context.current().config());
  private ServedMethods workerMethods;
  private ServedMethods factsMethods;

  /** Null until {@link #serve}; set last. */
  private volatile ServedMethods masterMethods;

  public LinkEndpoint(
      ClusterSpec cluster,
      String address,
      InetSocketAddress listen,
      Admission admission,
      Worker worker,
      Executor threads,
      Platform platform) {
    this.platform = platform;
    this.cluster = cluster;
    this.address = address;
    this.worker = worker;
    this.threads = threads;
    this.links = new Links(shortName(worker.name()), listen, admission, this, threads, platform);
    if (admission.closed()) {
      links.endpoint().serveOthers(new RefusedClients());
    }
  }

  /** TensorFlow's processes at a task that admits its job only: they cannot prove who they are. */
  private static final class RefusedClients implements Endpoint.Protocol {
    @Override
    public void serve(Connection c) throws IOException {
      refuse(c, "This task admits its own job only, and Millrace's protocol.");
      c.close();
    }

    @Override
    public void refuse(Connection c, String why) throws IOException {
      HandedConnections.refuseCalls(c, why);
    }
  }

  /** Serves from now on: clients' steps by the master, and all else by the worker. */
  public void serve(
      Master m,
      MasterEndpoint masterEndpoint,
      WorkerEndpoint workerEndpoint,
      FactsEndpoint factsEndpoint) {
    master = m;
    factsMethods = factsEndpoint.methods();
    masterLeases = masterEndpoint.leases();
    workerLeases = workerEndpoint.leases();
    workerMethods = workerEndpoint.methods();
    masterMethods = masterEndpoint.methods();
    links.every(
        SWEEP,
        () -> {
          masterLeases.sweep();
          workerLeases.sweep();
          worker.sweepSteps(STEP_AGE);
        });
  }

  private static String shortName(String task) {
    DeviceSpec d = DeviceSpec.parse(task);
    return d.job() + "/" + d.task();
  }

  /** The links of this task. */
  public Links links() {
    return links;
  }

  Timers timers() {
    return platform.timers();
  }

  Executor threads() {
    return threads;
  }

  Link to(String taskName) {
    return links.to(taskName);
  }

  // ---- greetings ----

  /** Whether links are made at all: {@code -Dmillrace.link=false} leaves TensorFlow's protocol. */
  static boolean areWanted() {
    return Context.current().config().get(ClusterSettings.LINK);
  }

  /** The method others greet by. */
  public ServerServiceDefinition service() {
    ServerServiceDefinition.Builder b = ServerServiceDefinition.builder(GrpcMethods.LINK);
    ServedMethods.serve(b, GrpcMethods.GREET, request -> greeted(request, PeerIdentity.unknown()));
    return b.build();
  }

  private TaskIdentity self() {
    return new TaskIdentity(worker.name(), worker.devices().getFirst().incarnation(), address);
  }

  private Greeting greeting(long[] ticket) {
    return new Greeting(
        Greeting.VERSION,
        self(),
        cluster.encode().toByteArray(),
        GetStatusResponse.newBuilder()
            .addAllDeviceAttributes(worker.attributes())
            .build()
            .toByteArray(),
        links.folder(),
        links.port(),
        ticket[0],
        ticket[1]);
  }

  Greeting ownGreeting() {
    return greeting(new long[2]);
  }

  @Override
  public byte[] greeted(byte[] request, PeerIdentity proved) {
    Greeting guest = decode(request, "a caller");
    TaskIdentity who = trusted(guest.identity());
    Links.checkIdentity(proved, who.task(), who.address());
    if (!areWanted()) {
      throw new MillraceException(Code.UNIMPLEMENTED, "Links are switched off here.");
    }
    return greeting(links.invite(who, guest.folder())).encode();
  }

  /** The peer with the address of its task by our own cluster spec, where it is a task of it. */
  private TaskIdentity trusted(TaskIdentity said) {
    if (!said.isClient()) {
      DeviceSpec d = DeviceSpec.parse(said.task());
      TaskId task = new TaskId(d.job(), d.task());
      if (cluster.tasks().contains(task)) {
        return new TaskIdentity(said.task(), said.incarnation(), cluster.address(task));
      }
    }
    return said.isClient() ? said : new TaskIdentity(said.task(), said.incarnation(), "");
  }

  /** Greets a task without gRPC, at the address where it accepts links. */
  CompletableFuture<byte[]> exchangeGreetings(
      String name, String at, byte[] own, Duration timeout) {
    CompletableFuture<byte[]> answer = new CompletableFuture<>();
    Timers.Timer deadline =
        timers()
            .later(
                timeout.toNanos(),
                () ->
                    answer.completeExceptionally(
                        new MillraceException(
                            Code.DEADLINE_EXCEEDED,
                            name
                                + " at "
                                + at
                                + " has not answered a greeting within "
                                + timeout.toMillis()
                                + " ms.")));
    answer.whenComplete((a, e) -> deadline.cancel());
    threads.execute(
        () -> {
          try {
            answer.complete(links.greet(name, at, own, timeout));
          } catch (IOException e) {
            answer.completeExceptionally(
                new MillraceException(
                    Code.UNAVAILABLE, name + " at " + at + ": " + e.getMessage(), e));
          } catch (RuntimeException e) {
            answer.completeExceptionally(e);
          }
        });
    return answer;
  }

  private static Greeting decode(byte[] bytes, String who) {
    Greeting g;
    try {
      g = Greeting.decode(bytes);
    } catch (IOException e) {
      throw MillraceException.invalid("The greeting of %s cannot be read: %s", who, e);
    }
    if (g.version() != Greeting.VERSION) {
      throw new MillraceException(
          Code.UNIMPLEMENTED,
          "The links of " + who + " are of version " + g.version() + ", ours " + Greeting.VERSION);
    }
    return g;
  }

  /**
   * Links to the task that answered our greeting, unless it is linked. A process that is not the
   * task it should be, or sees the cluster otherwise, is refused; one that cannot be linked to is
   * not.
   */
  Greeting connect(String name, String at, byte[] answer) {
    Greeting g = decode(answer, name);
    if (!g.identity().task().equals(name)) {
      throw new MillraceException(
          Code.FAILED_PRECONDITION,
          "wrong task: the process at "
              + at
              + " is "
              + g.identity().task()
              + ", not "
              + name
              + ". Correct the cluster spec, or --job_name and --task_index of that process.");
    }
    checkCluster(name, at, g);
    Link known = links.to(name);
    if (known == null || known.peer().incarnation() != g.identity().incarnation()) {
      try {
        links.connect(name, at, g);
      } catch (IOException e) {
        LOG.debug("No link to {}: {}", name, e.toString());
      }
    }
    return g;
  }

  private void checkCluster(String name, String at, Greeting g) {
    ClusterSpec theirs;
    try {
      theirs = ClusterSpec.decode(ClusterDef.parseFrom(g.cluster()));
    } catch (InvalidProtocolBufferException e) {
      throw MillraceException.invalid("The cluster of %s cannot be read: %s", name, e);
    }
    String difference = cluster.differenceFrom(theirs);
    if (difference != null) {
      throw new MillraceException(
          Code.FAILED_PRECONDITION,
          "cluster specs differ: "
              + difference
              + " by the spec of "
              + name
              + " at "
              + at
              + ". Start all tasks with the same spec.");
    }
  }

  // ---- what comes over links ----

  @Override
  public StepParts parts() {
    return worker;
  }

  @Override
  public void used(Link link, String session) {
    if (masterMethods == null) {
      throw starting();
    }
    workerLeases.use(session, link);
  }

  private MillraceException starting() {
    return new MillraceException(Code.UNAVAILABLE, worker.name() + " is starting.");
  }

  @Override
  public List<Tensor> step(Link link, ClientStep call, Cancellation cancellation) {
    MasterSession session = master.session(call.sessionHandle());
    masterLeases.use(call.sessionHandle(), link);
    return session.run(
        session.plan(call.feedNames(), call.fetches(), call.targets()),
        call.feeds(),
        call.parameters(),
        cancellation);
  }

  @Override
  public int messageBytes() {
    return limits.messageBytes();
  }

  @Override
  public CompletableFuture<byte[]> call(
      Link link, String method, byte[] request, Cancellation cancellation) {
    if (masterMethods == null) {
      throw starting();
    }
    ServedMethods methods =
        masterMethods.has(method)
            ? masterMethods
            : factsMethods.has(method) ? factsMethods : workerMethods;
    if (!methods.has(method)) {
      throw new MillraceException(
          Code.UNIMPLEMENTED, worker.name() + " has no method '" + method + "'.");
    }
    return methods.call(link, method, request, cancellation);
  }

  @Override
  public void linked(Link link) {
    if (!link.peer().isClient()) {
      worker.taskLinked(link.peer().task(), link);
    }
  }

  @Override
  public void lost(Link link, MillraceException cause) {
    links.remove(link);
    if (masterMethods != null) {
      masterLeases.gone(link);
      workerLeases.gone(link);
    }
    if (!link.peer().isClient()) {
      worker.taskLost(link.peer().task(), cause);
    }
  }

  @Override
  public void close() {
    links.close();
  }
}
