package dev.millrace.cluster.transport;

import dev.millrace.base.Cancellation;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.cluster.http2.GrpcErrors;
import dev.millrace.cluster.http2.GrpcMethods;
import dev.millrace.cluster.peer.RunGraph;
import dev.millrace.cluster.peer.StepReport;
import dev.millrace.cluster.spec.ServerLimits;
import dev.millrace.cluster.worker.Worker;
import dev.millrace.graph.Graph;
import dev.millrace.graph.OpRegistry;
import dev.millrace.graph.Rendezvous;
import dev.millrace.proto.CleanupAllResponse;
import dev.millrace.proto.CleanupGraphResponse;
import dev.millrace.proto.CreateWorkerSessionResponse;
import dev.millrace.proto.DeleteWorkerSessionResponse;
import dev.millrace.proto.DeregisterGraphResponse;
import dev.millrace.proto.GetStatusResponse;
import dev.millrace.proto.LoggingResponse;
import dev.millrace.proto.MarkRecvFinishedResponse;
import dev.millrace.proto.NamedTensorProto;
import dev.millrace.proto.RecvTensorRequest;
import dev.millrace.proto.RegisterGraphRequest;
import dev.millrace.proto.RegisterGraphResponse;
import dev.millrace.proto.RunGraphRequest;
import dev.millrace.proto.RunGraphResponse;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Tensor;
import dev.millrace.wire.GraphCodec;
import dev.millrace.wire.TensorCodec;
import io.grpc.ServerServiceDefinition;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The WorkerService in front of a {@link Worker}. */
public final class WorkerEndpoint {
  private static final Logger LOG = LoggerFactory.getLogger(WorkerEndpoint.class);

  private final Worker worker;
  private final OpRegistry registry;
  private final RequestIds seen = new RequestIds(100_000);
  private final Leases leases;
  private final ServedMethods methods = new ServedMethods();

  /** The lease of a graph that its master has registered without a session. */
  private record SessionlessGraph(String handle) {}

  public WorkerEndpoint(Worker worker, OpRegistry registry, ServerLimits limits, Timers timers) {
    this.worker = worker;
    this.registry = registry;
    this.leases = new Leases(limits.sessions(), timers, this::abandon);
    addMethods();
  }

  /** Discards the session or graph of a master that is gone. */
  private void abandon(Object leased) {
    if (leased instanceof SessionlessGraph graph) {
      LOG.info("Dropping graph {}: its master has gone.", graph.handle);
      worker.deregister("", false, graph.handle);
    } else {
      LOG.info("Closing session {}: its master has gone without closing it.", leased);
      worker.closeSession((String) leased);
    }
  }

  /** The leased object that a call uses: its session, or its graph if it has none. */
  private static Object leased(String session, boolean ownSession, String graph) {
    return ownSession ? session : new SessionlessGraph(graph);
  }

  Leases leases() {
    return leases;
  }

  /** The methods that links carry too. Steps and tensors have frames of their own there. */
  ServedMethods methods() {
    return methods;
  }

  private void addMethods() {
    methods.add(
        GrpcMethods.GET_STATUS,
        r -> GetStatusResponse.newBuilder().addAllDeviceAttributes(worker.attributes()).build());
    methods.add(
        GrpcMethods.CREATE_WORKER_SESSION,
        r -> {
          leases.checkRoom("sessions", Connections.current());
          worker.openSession(r);
          leases.open(r.getSessionHandle(), Connections.current());
          return CreateWorkerSessionResponse.getDefaultInstance();
        });
    methods.add(
        GrpcMethods.DELETE_WORKER_SESSION,
        r -> {
          leases.ended(r.getSessionHandle());
          worker.closeSession(r.getSessionHandle());
          return DeleteWorkerSessionResponse.getDefaultInstance();
        });
    methods.add(GrpcMethods.REGISTER_GRAPH, this::register);
    methods.add(
        GrpcMethods.DEREGISTER_GRAPH,
        r -> {
          worker.deregister(
              r.getSessionHandle(), r.getCreateWorkerSessionCalled(), r.getGraphHandle());
          if (!r.getCreateWorkerSessionCalled()) {
            leases.ended(new SessionlessGraph(r.getGraphHandle()));
          }
          return DeregisterGraphResponse.getDefaultInstance();
        });
    methods.add(
        GrpcMethods.CLEANUP_GRAPH,
        r -> {
          worker.cleanupStep(r.getStepId());
          return CleanupGraphResponse.getDefaultInstance();
        });
    methods.add(
        GrpcMethods.CLEANUP_ALL,
        r -> {
          worker.clear(r.getContainerList());
          return CleanupAllResponse.getDefaultInstance();
        });
    methods.add(GrpcMethods.LOGGING, r -> LoggingResponse.getDefaultInstance());
    methods.add(GrpcMethods.MARK_RECV_FINISHED, r -> MarkRecvFinishedResponse.getDefaultInstance());
    methods.add(GrpcMethods.GET_STEP_SEQUENCE, worker.collectives()::answer);
    methods.addLater(GrpcMethods.COMPLETE_GROUP, worker.collectives()::join);
    methods.addLater(GrpcMethods.COMPLETE_INSTANCE, worker.collectives()::instance);
    methods.addLater(
        GrpcMethods.RECV_BUF,
        r -> {
          seen.check("RecvBuf", r.getRequestId());
          return worker.serveBuffer(r);
        });
  }

  public ServerServiceDefinition service() {
    ServerServiceDefinition.Builder b = ServerServiceDefinition.builder(GrpcMethods.WORKER);
    methods.addTo(b);
    b.addMethod(GrpcMethods.RUN_GRAPH, ServerCalls.asyncUnaryCall(this::runGraph));
    return b.build();
  }

  private RegisterGraphResponse register(RegisterGraphRequest r) {
    boolean loose = !r.getCreateWorkerSessionCalled();
    if (loose) {
      leases.checkRoom("graphs", Connections.current());
    }
    String handle;
    try (HeapReservation _ = HeapReservation.forGraph(r.getGraphDef())) {
      Graph graph = new Graph(registry);
      GraphCodec.importInto(r.getGraphDef(), graph, false);
      handle = worker.register(r.getSessionHandle(), r.getCreateWorkerSessionCalled(), graph);
    }
    if (loose) {
      leases.open(new SessionlessGraph(handle), Connections.current());
    }
    return RegisterGraphResponse.newBuilder().setGraphHandle(handle).build();
  }

  private void runGraph(RunGraphRequest r, StreamObserver<RunGraphResponse> observer) {
    Cancellation cancellation =
        ClientCancellation.ofCurrentCall(
            code ->
                new MillraceException(
                        Code.ABORTED,
                        "Step " + r.getStepId() + " cancelled.  Cancelling rendezvous.")
                    .asDerived());
    RunGraphResponse response;
    Map<String, Tensor> feeds = new LinkedHashMap<>();
    try {
      seen.check("RunGraph", r.getRequestId());
      leases.use(
          leased(r.getSessionHandle(), r.getCreateWorkerSessionCalled(), r.getGraphHandle()),
          Connections.current());
      for (NamedTensorProto n : r.getSendList()) {
        feeds.put(n.getName(), TensorCodec.decodeCounted(n.getTensor()));
      }
      RunGraphResponse.Builder b = RunGraphResponse.newBuilder();
      RunGraph call =
          new RunGraph(
              r.getSessionHandle(),
              r.getCreateWorkerSessionCalled(),
              r.getGraphHandle(),
              r.getStepId(),
              feeds,
              r.getRecvKeyList(),
              new StepReport(r.getExecOpts().getRecordTimeline()));
      List<Tensor> results =
          r.getIsPartial()
              ? worker.runPartial(call, r.getIsLastPartialRun(), cancellation)
              : worker.run(call, cancellation);
      if (call.report().isTraced()) {
        b.getStepStatsBuilder().addAllDevStats(call.report().times());
      }
      for (int i = 0; i < results.size(); i++) {
        b.addRecv(
            NamedTensorProto.newBuilder()
                .setName(r.getRecvKey(i))
                .setTensor(TensorCodec.encode(results.get(i))));
        Refs.release(results.get(i));
      }
      response = b.build();
    } catch (Throwable t) {
      MillraceException e = MillraceException.of(t);
      if (!r.getStoreErrorsInResponseBody()) {
        forgetIfGone(r.getStepId());
        observer.onError(GrpcErrors.encode(e));
        return;
      }
      response =
          RunGraphResponse.newBuilder()
              .setStatusCodeValue(e.code().number())
              .setStatusErrorMessage(GrpcErrors.message(e))
              .build();
    } finally {
      feeds.values().forEach(Refs::release);
    }
    if (!forgetIfGone(r.getStepId())) {
      observer.onNext(response);
      observer.onCompleted();
    }
  }

  /** Forgets a step that its master has cancelled or left: then no CleanupGraph comes. */
  private boolean forgetIfGone(long stepId) {
    boolean gone = ClientCancellation.isCurrentCallCancelled();
    if (gone) {
      worker.cleanupStep(stepId);
    }
    return gone;
  }

  /** Serves RecvTensor, which does not come by gRPC's calls. */
  void recvTensor(RecvTensorRequest r, Rendezvous.Receiver receiver, Cancellation cancellation) {
    Rendezvous.Key key;
    try {
      seen.check("RecvTensor", r.getRequestId());
      key = Rendezvous.Key.parse(r.getRendezvousKey());
    } catch (MillraceException e) {
      receiver.failed(e);
      return;
    }
    worker.serveTensor(r.getStepId(), key, receiver, cancellation);
  }
}
