package dev.millrace.cluster.transport;

import dev.millrace.base.Cancellation;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.base.context.Context;
import dev.millrace.cluster.http2.GrpcErrors;
import dev.millrace.cluster.http2.GrpcMethods;
import dev.millrace.cluster.link.ClientStep;
import dev.millrace.cluster.link.Link;
import dev.millrace.cluster.peer.StepParameters;
import dev.millrace.graph.Graph;
import dev.millrace.proto.CloseSessionRequest;
import dev.millrace.proto.ConfigProto;
import dev.millrace.proto.CreateSessionRequest;
import dev.millrace.proto.DeviceAttributes;
import dev.millrace.proto.ExtendSessionRequest;
import dev.millrace.proto.GetStatusRequest;
import dev.millrace.proto.ListDevicesRequest;
import dev.millrace.proto.ListDevicesResponse;
import dev.millrace.proto.NamedTensorProto;
import dev.millrace.proto.RunOptions;
import dev.millrace.proto.RunStepRequest;
import dev.millrace.proto.RunStepResponse;
import dev.millrace.runtime.exec.StepFailures;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Tensor;
import dev.millrace.wire.GraphCodec;
import dev.millrace.wire.TensorCodec;
import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A client's end of the MasterService: calls block and fail with a MillraceException. */
public final class MasterClient implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(MasterClient.class);
  private static final Duration GREETING = Duration.ofSeconds(3);
  private static final Duration RETRY = Duration.ofMillis(200);
  private static final long MIN_ATTEMPT_NANOS = 500_000_000L;
  private static final long MAX_ATTEMPT_NANOS = 10_000_000_000L;
  private static final long REPORT_SECONDS = 10;

  /** How long after a step's own limit its answer may come. */
  private static final Duration AFTER_TIMEOUT = Duration.ofSeconds(5);

  /** How long the answers to the steps of a closed session may take. */
  private static final Duration ANSWERS = Duration.ofSeconds(5);

  private final Lock running = new ReentrantLock();
  private final Condition answered = running.newCondition();

  /** How many steps have not been answered. Guarded by the lock. */
  private int unanswered;

  private final ClientLinks clients = ClientLinks.current();
  private final Timers timers = Context.current().timers();
  private final String address;
  private final boolean usesLinks;
  private final ManagedChannel channel;

  /** To a master that is one of ours; null to any other. */
  private volatile Link link;

  /**
   * A client of the master at {@code host:port}; nothing is sent yet.
   *
   * @param usesLinks whether to link to a master that is one of ours
   */
  public MasterClient(String address, boolean usesLinks) {
    this.address = address;
    this.usesLinks = usesLinks && LinkEndpoint.areWanted();
    this.channel = TaskPeers.channel(address, clients.threads());
  }

  /** Opens a session; returns its handle. Waits until master and tasks are there. */
  public String createSession(Graph graph, ConfigProto config, Duration timeout) {
    link(timeout);
    return call(
            GrpcMethods.CREATE_SESSION,
            CreateSessionRequest.newBuilder()
                .setGraphDef(GraphCodec.encode(graph))
                .setConfig(config)
                .setTarget("grpc://" + address)
                .build(),
            timeout,
            true)
        .getSessionHandle();
  }

  /** Opens a link if the master is one of ours, once it is there. */
  private void link(Duration timeout) {
    if (clients.encrypts()) {
      link = greetedDirectly(timeout, true);
      return;
    }
    if (!usesLinks) {
      return;
    }
    try {
      link = greeted(timeout, true);
    } catch (IOException e) {
      LOG.debug("No link to the master at {}: {}", address, e.getMessage());
    } catch (MillraceException e) {
      if (e.code() == Code.DEADLINE_EXCEEDED) {
        throw e;
      }
      LOG.debug("No link to the master at {}: {}", address, e.getMessage());
    }
  }

  /** Sends the nodes from {@code from} on; returns the new version. */
  public long extendSession(String handle, Graph graph, int from, long version) {
    return call(
            GrpcMethods.EXTEND_SESSION,
            ExtendSessionRequest.newBuilder()
                .setSessionHandle(handle)
                .setGraphDef(GraphCodec.encode(graph, from))
                .setCurrentGraphVersion(version)
                .build(),
            Duration.ofMinutes(2),
            false)
        .getNewGraphVersion();
  }

  /** Runs a step; the results, in the order of the fetches, are the caller's to release. */
  public List<Tensor> run(ClientStep step) {
    count(1);
    try {
      Link l = linked();
      return l != null ? runOverLink(l, step) : runByGrpc(step);
    } catch (MillraceException e) {
      // An interrupt while a channel is written to closes the channel as well.
      throw e.code() == Code.UNAVAILABLE && Thread.currentThread().isInterrupted()
          ? StepFailures.interrupted(e)
          : e;
    } finally {
      count(-1);
    }
  }

  private void count(int steps) {
    running.lock();
    try {
      unanswered += steps;
      answered.signalAll();
    } finally {
      running.unlock();
    }
  }

  /**
   * The link, or null to a master that has none. Opens a lost link again: a gRPC call to a stopped
   * master would wait in its socket, and run there after it was given up here.
   */
  private Link linked() {
    Link l = link;
    if (l != null && l.loss() == null) {
      return l;
    }
    if (clients.encrypts()) {
      try {
        link = greetedDirectly(GREETING, false);
        return link;
      } catch (MillraceException e) {
        throw e.code() == Code.DEADLINE_EXCEEDED ? silent(GREETING, e) : e;
      }
    }
    if (l == null) {
      return null;
    }
    try {
      link = greeted(GREETING, false);
    } catch (IOException e) {
      LOG.debug("No link to the master at {} any more: {}", address, e.getMessage());
      link = null;
    } catch (MillraceException e) {
      if (e.code() == Code.UNIMPLEMENTED) {
        link = null;
      } else {
        throw e.code() == Code.DEADLINE_EXCEEDED ? silent(GREETING, e) : e;
      }
    }
    return link;
  }

  private Link greeted(Duration timeout, boolean waitForReady) throws IOException {
    if (clients.encrypts()) {
      return greetedDirectly(timeout, waitForReady);
    }
    if (clients.greetsDirectly(address)) {
      try {
        return clients.connect("", address, shorter(timeout));
      } catch (IOException e) {
        LOG.debug("No process of this user at {} any more: {}", address, e.toString());
      } catch (MillraceException e) {
        if (e.code() != Code.DEADLINE_EXCEEDED || !waitForReady) {
          throw e;
        }
      }
    }
    return clients.connect(
        address, callByGrpc(GrpcMethods.GREET, clients.greeting(), timeout, waitForReady));
  }

  private static Duration shorter(Duration timeout) {
    return Duration.ofNanos(Math.clamp(timeout.toNanos(), MIN_ATTEMPT_NANOS, MAX_ATTEMPT_NANOS));
  }

  /** Links without gRPC; tries again until the master is there, if wanted. */
  private Link greetedDirectly(Duration timeout, boolean waitForReady) {
    long start = timers.now();
    while (true) {
      Exception last;
      long left = timeout.toNanos() - timers.since(start);
      try {
        return clients.connect("", address, shorter(Duration.ofNanos(left)));
      } catch (IOException e) {
        last = e;
      } catch (MillraceException e) {
        if (e.code() != Code.DEADLINE_EXCEEDED || !waitForReady) {
          throw e;
        }
        last = e;
      }
      if (!waitForReady) {
        throw new MillraceException(
            Code.UNAVAILABLE, master() + " cannot be reached: " + last.getMessage(), last);
      }
      if (timers.since(start) > timeout.toNanos()) {
        throw new MillraceException(
            Code.DEADLINE_EXCEEDED,
            master()
                + " has not answered a greeting within "
                + timeout.toSeconds()
                + " s: "
                + last.getMessage(),
            last);
      }
      try {
        timers.sleep(RETRY);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw StepFailures.interrupted(e);
      }
    }
  }

  private List<Tensor> runOverLink(Link l, ClientStep step) {
    Cancellation cancellation = new Cancellation();
    return await(timers, l.step(step, cancellation), cancellation, master());
  }

  /**
   * Waits for the results of a step and logs that every 10 s. Cancels the step if this thread is
   * interrupted; fails if the master is lost.
   */
  static List<Tensor> await(
      Timers timers,
      CompletableFuture<List<Tensor>> answer,
      Cancellation cancellation,
      String master) {
    long start = timers.now();
    try {
      while (true) {
        try {
          return timers.get(answer, Duration.ofSeconds(REPORT_SECONDS));
        } catch (TimeoutException e) {
          report(timers, start, "a step", master);
        }
      }
    } catch (ExecutionException e) {
      throw MillraceException.of(e);
    } catch (InterruptedException e) {
      MillraceException c = StepFailures.interrupted(e);
      cancellation.cancel(c);
      // They may be under way already.
      answer.thenAccept(late -> late.forEach(Refs::release));
      Thread.currentThread().interrupt();
      throw c;
    }
  }

  private static void report(Timers timers, long startNanos, String what, String master) {
    LOG.info(
        "Waiting for {} to end, for {} s so far. {} answers and runs it.",
        what,
        (timers.now() - startNanos) / 1_000_000_000L,
        master);
  }

  private List<Tensor> runByGrpc(ClientStep step) {
    StepParameters how = step.parameters();
    List<String> fetches = step.fetches();
    RunStepRequest.Builder b =
        RunStepRequest.newBuilder()
            .setSessionHandle(step.sessionHandle())
            .addAllFetch(new java.util.LinkedHashSet<>(fetches))
            .addAllTarget(step.targets())
            .setStoreErrorsInResponseBody(true)
            .setRequestId(1 + (ThreadLocalRandom.current().nextLong() >>> 1));
    for (int i = 0; i < step.feeds().size(); i++) {
      b.addFeed(
          NamedTensorProto.newBuilder()
              .setName(step.feedNames().get(i))
              .setTensor(TensorCodec.encode(step.feeds().get(i))));
    }
    if (how.timeout() != null) {
      b.getOptionsBuilder().setTimeoutInMs(Math.max(1, how.timeout().toMillis()));
    }
    if (how.defaultTimeout()) {
      b.getOptionsBuilder().getExperimentalBuilder().setDefaultTimeout(true);
    }
    if (how.collectiveKey() != 0) {
      b.getOptionsBuilder().getExperimentalBuilder().setCollectiveGraphKey(how.collectiveKey());
    }
    if (how.report().isTraced()) {
      b.getOptionsBuilder().setTraceLevel(RunOptions.TraceLevel.FULL_TRACE);
    }
    RunStepResponse r = runStep(b.build(), how.timeout());
    if (r.getStatusCodeValue() != 0) {
      throw GrpcErrors.decode(Code.of(r.getStatusCodeValue()), r.getStatusErrorMessage());
    }
    r.getMetadata().getStepStats().getDevStatsList().forEach(how.report()::addTimes);
    Map<String, Tensor> byName = new HashMap<>();
    r.getTensorList()
        .forEach(t -> byName.put(t.getName(), TensorCodec.decodeCounted(t.getTensor())));
    Tensor[] results = new Tensor[fetches.size()];
    for (int i = 0; i < results.length; i++) {
      Tensor t = byName.get(fetches.get(i));
      if (t == null) {
        throw MillraceException.internal(
            "The master at %s did not return '%s'.", address, fetches.get(i));
      }
      // An output fetched twice is one tensor on the wire and two references here.
      results[i] = fetches.indexOf(fetches.get(i)) == i ? t : Refs.reshaped(t, t.shape());
    }
    return List.of(results);
  }

  /** The devices of all tasks of a session, as its master sees them. */
  public List<DeviceAttributes> listDevices(String handle, Duration timeout) {
    ListDevicesResponse r =
        call(
            GrpcMethods.LIST_DEVICES,
            ListDevicesRequest.newBuilder().setSessionHandle(handle).build(),
            timeout,
            false);
    List<DeviceAttributes> all = new ArrayList<>(r.getLocalDeviceList());
    all.addAll(r.getRemoteDeviceList());
    return all;
  }

  /** Closes a session, unless its master is known to be gone. */
  public void closeSession(String handle) {
    if (link != null && link.loss() != null) {
      return;
    }
    call(
        GrpcMethods.CLOSE_SESSION,
        CloseSessionRequest.newBuilder().setSessionHandle(handle).build(),
        Duration.ofSeconds(15),
        false);
  }

  private <Q, R> R call(
      MethodDescriptor<Q, R> method, Q request, Duration timeout, boolean waitForReady) {
    Link l = linked();
    return l != null
        ? callOverLink(l, method, request, timeout)
        : callByGrpc(method, request, timeout, waitForReady);
  }

  private <Q, R> R callOverLink(
      Link l, MethodDescriptor<Q, R> method, Q request, Duration timeout) {
    Cancellation cancellation = new Cancellation();
    CompletableFuture<R> answer = LinkCalls.call(l, method, request, timeout, cancellation);
    try {
      // The link ends the call at its limit, or when the master is gone.
      return answer.get();
    } catch (ExecutionException e) {
      throw MillraceException.of(e);
    } catch (InterruptedException e) {
      MillraceException c = StepFailures.interrupted(e);
      cancellation.cancel(c);
      Thread.currentThread().interrupt();
      throw c;
    }
  }

  private <Q, R> R callByGrpc(
      MethodDescriptor<Q, R> method, Q request, Duration timeout, boolean waitForReady) {
    CallOptions o = CallOptions.DEFAULT.withDeadlineAfter(timeout.toNanos(), TimeUnit.NANOSECONDS);
    try {
      return ClientCalls.blockingUnaryCall(
          channel, method, waitForReady ? o.withWaitForReady() : o, request);
    } catch (RuntimeException e) {
      throw decoded(e, method, timeout);
    }
  }

  private MillraceException decoded(
      RuntimeException e, MethodDescriptor<?, ?> method, Duration timeout) {
    MillraceException m = GrpcErrors.decode(e, master());
    return m.code() == Code.DEADLINE_EXCEEDED && timeout != null && !GrpcErrors.isAnswer(e)
        ? m.withMessage(
            method.getBareMethodName()
                + " on the master at "
                + address
                + " had no answer within "
                + timeout.toSeconds()
                + " s: "
                + m.getMessage())
        : m;
  }

  /**
   * Runs a step, which may take long. While it does, the master is asked whether it is there: a
   * connection alone does not tell a stopped process from a busy one.
   *
   * @param timeout within which the master ends the step; null for any time
   */
  private RunStepResponse runStep(RunStepRequest request, Duration timeout) {
    Duration limit = timeout == null ? null : timeout.plus(AFTER_TIMEOUT);
    CallOptions o = CallOptions.DEFAULT;
    if (limit != null) {
      o = o.withDeadlineAfter(limit.toNanos(), TimeUnit.NANOSECONDS);
    }
    Future<RunStepResponse> answer =
        ClientCalls.futureUnaryCall(channel.newCall(GrpcMethods.RUN_STEP, o), request);
    long start = timers.now();
    long reported = start;
    try {
      while (true) {
        try {
          return timers.get(answer, Duration.ofSeconds(1));
        } catch (TimeoutException e) {
          checkAlive();
        }
        if (timers.now() - reported > TimeUnit.SECONDS.toNanos(REPORT_SECONDS)) {
          reported = timers.now();
          report(timers, start, "a step", master());
        }
      }
    } catch (ExecutionException e) {
      throw decoded(
          e.getCause() instanceof RuntimeException r ? r : MillraceException.of(e),
          GrpcMethods.RUN_STEP,
          limit);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw StepFailures.interrupted(e);
    } finally {
      answer.cancel(true);
    }
  }

  /** The master as messages name it: by its task too, once there has been a link to it. */
  private String master() {
    Link l = link;
    return (l == null ? "The master" : "The master, " + l.peer().task() + ",") + " at " + address;
  }

  private void checkAlive() {
    try {
      ClientCalls.blockingUnaryCall(
          channel,
          GrpcMethods.GET_STATUS,
          CallOptions.DEFAULT.withDeadlineAfter(
              TaskPeers.PATIENCE.toMillis(), TimeUnit.MILLISECONDS),
          GetStatusRequest.getDefaultInstance());
    } catch (StatusRuntimeException e) {
      if (e.getStatus().getCode() == Status.Code.DEADLINE_EXCEEDED) {
        throw silent(TaskPeers.PATIENCE, e);
      }
    }
  }

  private MillraceException silent(Duration time, Exception e) {
    return new MillraceException(
        Code.UNAVAILABLE,
        master()
            + " has not answered for "
            + time.toSeconds()
            + " s: its process is stopped, its host or the network is down.",
        e);
  }

  /** Closes the connection once the steps of a closed session have been answered. */
  @Override
  public void close() {
    awaitAnswers();
    Link l = link;
    if (l != null) {
      l.close();
    }
    channel.shutdownNow();
  }

  private void awaitAnswers() {
    running.lock();
    try {
      long end = timers.now() + ANSWERS.toNanos();
      for (long left = ANSWERS.toNanos(); unanswered > 0 && left > 0; left = end - timers.now()) {
        timers.await(answered, left);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      running.unlock();
    }
  }
}
