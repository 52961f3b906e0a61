package dev.millrace.cluster.transport;

import dev.millrace.base.Cancellation;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.cluster.http2.GrpcErrors;
import dev.millrace.cluster.http2.GrpcMethods;
import dev.millrace.cluster.master.Master;
import dev.millrace.cluster.master.MasterSession;
import dev.millrace.cluster.master.SessionSettings;
import dev.millrace.cluster.spec.ServerLimits;
import dev.millrace.graph.Graph;
import dev.millrace.proto.CallableOptions;
import dev.millrace.proto.CloseSessionResponse;
import dev.millrace.proto.ConfigProto;
import dev.millrace.proto.CreateSessionRequest;
import dev.millrace.proto.CreateSessionResponse;
import dev.millrace.proto.DeviceAttributes;
import dev.millrace.proto.ExtendSessionRequest;
import dev.millrace.proto.ExtendSessionResponse;
import dev.millrace.proto.GraphDef;
import dev.millrace.proto.ListDevicesRequest;
import dev.millrace.proto.ListDevicesResponse;
import dev.millrace.proto.MakeCallableRequest;
import dev.millrace.proto.MakeCallableResponse;
import dev.millrace.proto.NamedTensorProto;
import dev.millrace.proto.PartialRunSetupResponse;
import dev.millrace.proto.ReleaseCallableResponse;
import dev.millrace.proto.ResetResponse;
import dev.millrace.proto.RunCallableRequest;
import dev.millrace.proto.RunCallableResponse;
import dev.millrace.proto.RunMetadata;
import dev.millrace.proto.RunStepRequest;
import dev.millrace.proto.RunStepResponse;
import dev.millrace.runtime.device.Device;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Tensor;
import dev.millrace.wire.GraphCodec;
import dev.millrace.wire.TensorCodec;
import io.grpc.ServerServiceDefinition;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The MasterService in front of a {@link Master}. */
public final class MasterEndpoint {
  /** Who opens and closes sessions; the endpoint of the task logs there who is refused. */
  private static final Logger AUDIT = LoggerFactory.getLogger("millrace.audit");

  private static final Logger LOG = LoggerFactory.getLogger(MasterEndpoint.class);
  private static final long CPU_MEMORY_LIMIT = 256L << 20;

  private final Master master;
  private final RequestIds seen = new RequestIds(10_000);

  /** Callables by session handle and number. */
  private final Map<String, Map<Long, CallableOptions>> callables = new ConcurrentHashMap<>();

  private final AtomicLong callableIds = new AtomicLong(1);

  private final Leases leases;
  private final ServedMethods methods = new ServedMethods();

  public MasterEndpoint(Master master, ServerLimits limits, Timers timers) {
    this.master = master;
    this.leases = new Leases(limits.sessions(), timers, this::abandon);
    addMethods();
  }

  Leases leases() {
    return leases;
  }

  /** Closes the session of a client that is gone. */
  private void abandon(Object session) {
    String handle = (String) session;
    LOG.info("Closing session {}: its client has gone without closing it.", handle);
    try {
      close(handle);
    } catch (MillraceException e) {
      LOG.debug("Session {} was closed already.", handle);
    }
  }

  private void close(String handle) {
    callables.remove(handle);
    leases.ended(handle);
    master.close(handle);
  }

  /** The session of a call, which shows that its client is there. */
  private MasterSession session(String handle) {
    MasterSession s = master.session(handle);
    leases.use(handle, Connections.current());
    return s;
  }

  /** The methods that links carry too. Steps have frames of their own there. */
  ServedMethods methods() {
    return methods;
  }

  private void addMethods() {
    // May wait for tasks for long, but not for longer than the client does.
    methods.add(GrpcMethods.CREATE_SESSION, r -> createSession(r, cancelledWithCall()));
    methods.add(GrpcMethods.EXTEND_SESSION, this::extendSession);
    methods.add(
        GrpcMethods.PARTIAL_RUN_SETUP,
        r -> {
          seen.check("PartialRunSetup", r.getRequestId());
          return PartialRunSetupResponse.newBuilder()
              .setPartialRunHandle(
                  session(r.getSessionHandle())
                      .setUpPartialRun(
                          List.copyOf(r.getFeedList()),
                          List.copyOf(r.getFetchList()),
                          List.copyOf(r.getTargetList())))
              .build();
        });
    methods.add(
        GrpcMethods.CLOSE_SESSION,
        r -> {
          AUDIT.info("session {} closed by {}", r.getSessionHandle(), Connections.caller());
          close(r.getSessionHandle());
          return CloseSessionResponse.getDefaultInstance();
        });
    methods.add(GrpcMethods.LIST_DEVICES, this::listDevices);
    methods.add(
        GrpcMethods.RESET,
        r -> {
          AUDIT.info("all sessions reset by {}", Connections.caller());
          callables.clear();
          master.reset(r.getContainerList(), r.getDeviceFiltersList());
          return ResetResponse.getDefaultInstance();
        });
    methods.add(GrpcMethods.MAKE_CALLABLE, this::makeCallable);
    methods.add(
        GrpcMethods.RELEASE_CALLABLE,
        r -> {
          Map<Long, CallableOptions> ofSession = callables.get(r.getSessionHandle());
          if (ofSession != null) {
            ofSession.remove(r.getHandle());
          }
          return ReleaseCallableResponse.getDefaultInstance();
        });
  }

  public ServerServiceDefinition service() {
    ServerServiceDefinition.Builder b = ServerServiceDefinition.builder(GrpcMethods.MASTER);
    methods.addTo(b);
    b.addMethod(GrpcMethods.RUN_STEP, ServerCalls.asyncUnaryCall(this::runStep));
    b.addMethod(GrpcMethods.RUN_CALLABLE, ServerCalls.asyncUnaryCall(this::runCallable));
    return b.build();
  }

  private CreateSessionResponse createSession(CreateSessionRequest r, Cancellation cancellation) {
    ConfigProto c = r.getConfig();
    if (c.getUsePerSessionThreads() || c.getSessionInterOpThreadPoolCount() > 0) {
      throw MillraceException.invalid(
          "Distributed session does not support session thread pool options.");
    }
    leases.checkRoom("sessions", Connections.current());
    MasterSession s =
        master.create(
            g -> importInto(g, r.getGraphDef()),
            SessionSettings.of(c, r.getTarget()),
            cancellation);
    leases.open(s.handle(), Connections.current());
    AUDIT.info("session {} opened by {}", s.handle(), Connections.caller());
    if (cancellation.isCancelled()) {
      // The client is gone and never learns the handle.
      close(s.handle());
      cancellation.check();
    }
    return CreateSessionResponse.newBuilder().setSessionHandle(s.handle()).build();
  }

  private static void importInto(Graph graph, GraphDef nodes) {
    try (HeapReservation _ = HeapReservation.forGraph(nodes)) {
      GraphCodec.importInto(nodes, graph, true);
    }
  }

  private ExtendSessionResponse extendSession(ExtendSessionRequest r) {
    long version =
        session(r.getSessionHandle())
            .extend(r.getCurrentGraphVersion(), g -> importInto(g, r.getGraphDef()));
    return ExtendSessionResponse.newBuilder().setNewGraphVersion(version).build();
  }

  private ListDevicesResponse listDevices(ListDevicesRequest r) {
    ListDevicesResponse.Builder b = ListDevicesResponse.newBuilder();
    if (r.getSessionHandle().isEmpty()) {
      return b.addAllLocalDevice(master.ownDevices())
          .addAllRemoteDevice(master.otherDevices(Duration.ofSeconds(3)))
          .build();
    }
    MasterSession s;
    try {
      s = master.session(r.getSessionHandle());
    } catch (MillraceException e) {
      throw MillraceException.invalid(
          "Session %s is not found. Possibly, this master has restarted.", r.getSessionHandle());
    }
    for (Device d : s.devices()) {
      b.addLocalDevice(
          DeviceAttributes.newBuilder()
              .setName(d.name())
              .setDeviceType(d.spec().type())
              .setMemoryLimit(CPU_MEMORY_LIMIT)
              .setIncarnation(d.incarnation()));
    }
    return b.build();
  }

  /** Cancels the work of the current call once its client no longer waits. */
  private static Cancellation cancelledWithCall() {
    return ClientCancellation.ofCurrentCall(
        code ->
            new MillraceException(
                code,
                code == Code.DEADLINE_EXCEEDED
                    ? "The deadline of the client's call has passed."
                    : "The client has cancelled its call or is gone."));
  }

  private void runStep(RunStepRequest r, StreamObserver<RunStepResponse> observer) {
    Cancellation cancellation = cancelledWithCall();
    RunStepResponse response;
    List<Tensor> feeds = new ArrayList<>();
    List<Tensor> results = List.of();
    try {
      seen.check("RunStep", r.getRequestId());
      MasterSession session = session(r.getSessionHandle());
      List<String> names = new ArrayList<>();
      for (NamedTensorProto n : r.getFeedList()) {
        names.add(n.getName());
        feeds.add(TensorCodec.decodeCounted(n.getTensor()));
      }
      RunMetadata.Builder metadata = RunMetadata.newBuilder();
      results =
          r.getPartialRunHandle().isEmpty()
              ? session.run(
                  session.plan(names, r.getFetchList(), r.getTargetList()),
                  feeds,
                  r.getOptions(),
                  metadata,
                  cancellation)
              : session.runPartial(
                  r.getPartialRunHandle(),
                  names,
                  feeds,
                  List.copyOf(r.getFetchList()),
                  cancellation);
      RunStepResponse.Builder b = RunStepResponse.newBuilder().setMetadata(metadata);
      for (int i = 0; i < results.size(); i++) {
        b.addTensor(
            NamedTensorProto.newBuilder()
                .setName(r.getFetch(i))
                .setTensor(TensorCodec.encode(results.get(i))));
      }
      response = b.build();
    } catch (Throwable t) {
      MillraceException e = MillraceException.of(t);
      if (!r.getStoreErrorsInResponseBody()) {
        observer.onError(GrpcErrors.encode(e));
        return;
      }
      response =
          RunStepResponse.newBuilder()
              .setStatusCodeValue(e.code().number())
              .setStatusErrorMessage(String.valueOf(e.getMessage()))
              .build();
    } finally {
      feeds.forEach(Refs::release);
      results.forEach(Refs::release);
    }
    observer.onNext(response);
    observer.onCompleted();
  }

  private MakeCallableResponse makeCallable(MakeCallableRequest r) {
    seen.check("MakeCallable", r.getRequestId());
    session(r.getSessionHandle());
    long id = callableIds.getAndIncrement();
    callables
        .computeIfAbsent(r.getSessionHandle(), h -> new ConcurrentHashMap<>())
        .put(id, r.getOptions());
    return MakeCallableResponse.newBuilder().setHandle(id).build();
  }

  private void runCallable(RunCallableRequest r, StreamObserver<RunCallableResponse> observer) {
    Cancellation cancellation = cancelledWithCall();
    List<Tensor> feeds = new ArrayList<>();
    List<Tensor> results = List.of();
    RunCallableResponse response;
    try {
      MasterSession session = session(r.getSessionHandle());
      CallableOptions o = callables.getOrDefault(r.getSessionHandle(), Map.of()).get(r.getHandle());
      if (o == null) {
        throw MillraceException.invalid("No such callable handle: %d", r.getHandle());
      }
      RunMetadata.Builder metadata = RunMetadata.newBuilder();
      r.getFeedList().forEach(t -> feeds.add(TensorCodec.decodeCounted(t)));
      if (feeds.size() != o.getFeedCount()) {
        throw MillraceException.invalid(
            "The callable takes %d feeds; %d were given.", o.getFeedCount(), feeds.size());
      }
      results =
          session.run(
              session.plan(o.getFeedList(), o.getFetchList(), o.getTargetList()),
              feeds,
              o.getRunOptions(),
              metadata,
              cancellation);
      RunCallableResponse.Builder b = RunCallableResponse.newBuilder().setMetadata(metadata);
      results.forEach(t -> b.addFetch(TensorCodec.encode(t)));
      response = b.build();
    } catch (Throwable t) {
      observer.onError(GrpcErrors.encode(t));
      return;
    } finally {
      feeds.forEach(Refs::release);
      results.forEach(Refs::release);
    }
    observer.onNext(response);
    observer.onCompleted();
  }
}
