package dev.millrace.cluster.transport;

import dev.millrace.base.Cancellation;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.cluster.link.ClientStep;
import dev.millrace.cluster.link.Link;
import dev.millrace.graph.Graph;
import dev.millrace.proto.CloseSessionRequest;
import dev.millrace.proto.ConfigProto;
import dev.millrace.proto.CreateSessionRequest;
import dev.millrace.proto.DeviceAttributes;
import dev.millrace.proto.DeviceStepStats;
import dev.millrace.proto.ExtendSessionRequest;
import dev.millrace.proto.GetStatusRequest;
import dev.millrace.proto.ListDevicesRequest;
import dev.millrace.proto.ListDevicesResponse;
import dev.millrace.proto.NamedTensorProto;
import dev.millrace.proto.RunStepRequest;
import dev.millrace.proto.RunStepResponse;
import dev.millrace.runtime.RunOptions;
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
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A client's end of the MasterService: calls block and fail with a MillraceException. */
public final class MasterClient implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(MasterClient.class);
  private static final Duration GREETING = Duration.ofSeconds(3);
  private static final long REPORT_SECONDS = 10;

  private final String address;
  private final ManagedChannel channel;

  /** To a master that is one of ours; null to any other. */
  private volatile Link link;

  /** A client of the master at {@code host:port}; nothing is sent yet. */
  public MasterClient(String address) {
    this.address = address;
    this.channel = GrpcPeers.channel(address, ClientLinks.THREADS);
  }

  /** Opens a session; returns its handle. Waits until master and tasks are there. */
  public String createSession(Graph graph, ConfigProto config, Duration timeout) {
    String handle =
        call(
                Methods.CREATE_SESSION,
                CreateSessionRequest.newBuilder()
                    .setGraphDef(GraphCodec.encode(graph))
                    .setConfig(config)
                    .setTarget("grpc://" + address)
                    .build(),
                timeout,
                true)
            .getSessionHandle();
    link();
    return handle;
  }

  /** Opens a link if the master is one of ours. */
  private void link() {
    if (!LinkEndpoint.areWanted()) {
      return;
    }
    try {
      link = greeted();
    } catch (IOException | MillraceException e) {
      LOG.debug("No link to the master at {}: {}", address, e.getMessage());
    }
  }

  /** Sends the nodes from {@code from} on; returns the new version. */
  public long extendSession(String handle, Graph graph, int from, long version) {
    return call(
            Methods.EXTEND_SESSION,
            ExtendSessionRequest.newBuilder()
                .setSessionHandle(handle)
                .setGraphDef(GraphCodec.encode(graph, from))
                .setCurrentGraphVersion(version)
                .build(),
            Duration.ofMinutes(2),
            false)
        .getNewGraphVersion();
  }

  /**
   * Runs a step; the results, in the order of {@code fetches}, are the caller's to release. If the
   * options ask for a trace, {@code times} is given what each device says ran when.
   */
  public Tensor[] runStep(
      String handle,
      List<String> feedNames,
      List<Tensor> feeds,
      List<String> fetches,
      List<String> targets,
      RunOptions options,
      Consumer<DeviceStepStats> times) {
    Link l = linked();
    // A link carries neither times nor keys.
    return l != null && options.trace() == null && options.collectiveKey() == 0
        ? stepOver(l, new ClientStep(handle, feedNames, feeds, fetches, targets, options.timeout()))
        : stepByGrpc(handle, feedNames, feeds, fetches, targets, options, times);
  }

  /**
   * The link, or null to a master that has none. Opens a lost link again: a gRPC call to a stopped
   * master would wait in its socket, and run there after it was given up here.
   */
  private Link linked() {
    Link l = link;
    if (l == null || l.loss() == null) {
      return l;
    }
    try {
      link = greeted();
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

  private Link greeted() throws IOException {
    ClientLinks links = ClientLinks.shared();
    return links.connect(address, call(Methods.GREET, links.greeting(), GREETING, false));
  }

  private Tensor[] stepOver(Link l, ClientStep step) {
    Cancellation cancellation = new Cancellation();
    return await(l.step(step, cancellation), cancellation, master());
  }

  /**
   * Waits for the results of a step and logs that every 10 s. Cancels the step if this thread is
   * interrupted; fails if the master is lost.
   */
  static Tensor[] await(
      CompletableFuture<List<Tensor>> answer, Cancellation cancellation, String master) {
    long start = System.nanoTime();
    try {
      while (true) {
        try {
          return answer.get(REPORT_SECONDS, TimeUnit.SECONDS).toArray(new Tensor[0]);
        } catch (TimeoutException e) {
          report(start, "a step", master);
        }
      }
    } catch (ExecutionException e) {
      throw MillraceException.of(e);
    } catch (InterruptedException e) {
      MillraceException c =
          new MillraceException(Code.CANCELLED, "The client's thread was interrupted.", e);
      cancellation.cancel(c);
      // They may be under way already.
      answer.thenAccept(late -> late.forEach(Tensor::release));
      Thread.currentThread().interrupt();
      throw c;
    }
  }

  private static void report(long startNanos, String what, String master) {
    LOG.info(
        "Waiting for {} to end, for {} s so far. {} answers and runs it.",
        what,
        (System.nanoTime() - startNanos) / 1_000_000_000L,
        master);
  }

  private Tensor[] stepByGrpc(
      String handle,
      List<String> feedNames,
      List<Tensor> feeds,
      List<String> fetches,
      List<String> targets,
      RunOptions options,
      Consumer<DeviceStepStats> times) {
    RunStepRequest.Builder b =
        RunStepRequest.newBuilder()
            .setSessionHandle(handle)
            .addAllFetch(new java.util.LinkedHashSet<>(fetches))
            .addAllTarget(targets)
            .setStoreErrorsInResponseBody(true)
            .setRequestId(1 + (ThreadLocalRandom.current().nextLong() >>> 1));
    for (int i = 0; i < feeds.size(); i++) {
      b.addFeed(
          NamedTensorProto.newBuilder()
              .setName(feedNames.get(i))
              .setTensor(TensorCodec.encode(feeds.get(i))));
    }
    if (options.hasTimeout()) {
      b.getOptionsBuilder().setTimeoutInMs(options.timeout().toMillis());
    }
    if (options.collectiveKey() != 0) {
      b.getOptionsBuilder().getExperimentalBuilder().setCollectiveGraphKey(options.collectiveKey());
    }
    if (options.trace() != null) {
      b.getOptionsBuilder().setTraceLevel(dev.millrace.proto.RunOptions.TraceLevel.FULL_TRACE);
    }
    RunStepResponse r =
        call(
            Methods.RUN_STEP,
            b.build(),
            options.hasTimeout() ? options.timeout().plusSeconds(5) : null,
            false);
    if (r.getStatusCodeValue() != 0) {
      throw Errors.decode(Code.of(r.getStatusCodeValue()), r.getStatusErrorMessage());
    }
    if (options.trace() != null) {
      r.getMetadata().getStepStats().getDevStatsList().forEach(times);
    }
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
      results[i] = fetches.indexOf(fetches.get(i)) == i ? t : t.reshaped(t.shape());
    }
    return results;
  }

  /** The devices of all tasks of a session, as its master sees them. */
  public List<DeviceAttributes> listDevices(String handle, Duration timeout) {
    ListDevicesResponse r =
        call(
            Methods.LIST_DEVICES,
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
        Methods.CLOSE_SESSION,
        CloseSessionRequest.newBuilder().setSessionHandle(handle).build(),
        Duration.ofSeconds(15),
        false);
  }

  private <Q, R> R call(
      MethodDescriptor<Q, R> method, Q request, Duration timeout, boolean waitForReady) {
    CallOptions o = CallOptions.DEFAULT;
    if (timeout != null) {
      o = o.withDeadlineAfter(timeout.toNanos(), TimeUnit.NANOSECONDS);
    }
    if (waitForReady) {
      o = o.withWaitForReady();
    }
    try {
      return timeout == null
          ? callWatched(method, request)
          : ClientCalls.blockingUnaryCall(channel, method, o, request);
    } catch (RuntimeException e) {
      MillraceException m = Errors.decode(e, master());
      throw m.code() == Code.DEADLINE_EXCEEDED && timeout != null && !Errors.isAnswer(e)
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
  }

  /**
   * A call that may take any time. While it does, the master is asked whether it is there: a
   * connection alone does not tell a stopped process from a busy one.
   */
  private <Q, R> R callWatched(MethodDescriptor<Q, R> method, Q request) {
    Future<R> answer =
        ClientCalls.futureUnaryCall(channel.newCall(method, CallOptions.DEFAULT), request);
    long start = System.nanoTime();
    long reported = start;
    try {
      while (true) {
        try {
          return answer.get(1, TimeUnit.SECONDS);
        } catch (TimeoutException e) {
          checkAlive();
        }
        if (System.nanoTime() - reported > TimeUnit.SECONDS.toNanos(REPORT_SECONDS)) {
          reported = System.nanoTime();
          report(start, method.getBareMethodName(), master());
        }
      }
    } catch (ExecutionException e) {
      throw e.getCause() instanceof RuntimeException r ? r : MillraceException.of(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new MillraceException(Code.CANCELLED, "The client's thread was interrupted.", e);
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
          Methods.GET_STATUS,
          CallOptions.DEFAULT.withDeadlineAfter(
              GrpcPeers.PATIENCE.toMillis(), TimeUnit.MILLISECONDS),
          GetStatusRequest.getDefaultInstance());
    } catch (StatusRuntimeException e) {
      if (e.getStatus().getCode() == Status.Code.DEADLINE_EXCEEDED) {
        throw silent(GrpcPeers.PATIENCE, e);
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

  @Override
  public void close() {
    Link l = link;
    if (l != null) {
      l.close();
    }
    channel.shutdownNow();
  }
}
