package dev.millrace.cluster.transport;

import dev.millrace.base.Cancellation;
import dev.millrace.cluster.http2.GrpcMethods;
import dev.millrace.cluster.peer.WorkerPeer;
import dev.millrace.graph.Graph;
import dev.millrace.proto.CleanupAllRequest;
import dev.millrace.proto.CleanupGraphRequest;
import dev.millrace.proto.CompleteGroupRequest;
import dev.millrace.proto.CompleteGroupResponse;
import dev.millrace.proto.CompleteInstanceRequest;
import dev.millrace.proto.CompleteInstanceResponse;
import dev.millrace.proto.CreateWorkerSessionRequest;
import dev.millrace.proto.DeleteWorkerSessionRequest;
import dev.millrace.proto.DeviceAttributes;
import dev.millrace.proto.GetStatusRequest;
import dev.millrace.proto.GetStatusResponse;
import dev.millrace.proto.GetStepSequenceRequest;
import dev.millrace.proto.GetStepSequenceResponse;
import dev.millrace.proto.RecvBufRequest;
import dev.millrace.proto.RecvBufResponse;
import dev.millrace.proto.RegisterGraphRequest;
import dev.millrace.proto.RegisterGraphResponse;
import dev.millrace.wire.GraphCodec;
import io.grpc.MethodDescriptor;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * A task in another process as it is called by the methods of the WorkerService, whatever carries
 * the calls.
 */
abstract class RemoteWorker implements WorkerPeer {
  /** One call; null for no time limit, and for a call that nobody cancels. */
  abstract <Q, R> CompletableFuture<R> call(
      MethodDescriptor<Q, R> method, Q request, Duration timeout, Cancellation cancellation);

  private <Q, R> CompletableFuture<R> call(
      MethodDescriptor<Q, R> method, Q request, Duration timeout) {
    return call(method, request, timeout, null);
  }

  @Override
  public CompletableFuture<List<DeviceAttributes>> status(Duration timeout) {
    return call(GrpcMethods.GET_STATUS, GetStatusRequest.getDefaultInstance(), timeout)
        .thenApply(GetStatusResponse::getDeviceAttributesList);
  }

  @Override
  public CompletableFuture<Void> createSession(CreateWorkerSessionRequest r, Duration timeout) {
    return call(GrpcMethods.CREATE_WORKER_SESSION, r, timeout).thenApply(x -> null);
  }

  @Override
  public CompletableFuture<Void> deleteSession(String handle, Duration timeout) {
    return call(
            GrpcMethods.DELETE_WORKER_SESSION,
            DeleteWorkerSessionRequest.newBuilder().setSessionHandle(handle).build(),
            timeout)
        .thenApply(x -> null);
  }

  @Override
  public CompletableFuture<String> registerGraph(String session, Graph graph) {
    return call(
            GrpcMethods.REGISTER_GRAPH,
            RegisterGraphRequest.newBuilder()
                .setSessionHandle(session)
                .setCreateWorkerSessionCalled(true)
                .setGraphDef(GraphCodec.encode(graph))
                .build(),
            Duration.ofMinutes(2))
        .thenApply(RegisterGraphResponse::getGraphHandle);
  }

  @Override
  public void cleanupStep(long stepId) {
    call(
            GrpcMethods.CLEANUP_GRAPH,
            CleanupGraphRequest.newBuilder().setStepId(stepId).build(),
            Duration.ofSeconds(10))
        .exceptionally(e -> null);
  }

  @Override
  public CompletableFuture<Void> cleanupAll(List<String> containers, Duration timeout) {
    return call(
            GrpcMethods.CLEANUP_ALL,
            CleanupAllRequest.newBuilder().addAllContainer(containers).build(),
            timeout)
        .thenApply(x -> null);
  }

  @Override
  public CompletableFuture<RecvBufResponse> recvBuffer(
      RecvBufRequest r, Duration timeout, Cancellation cancellation) {
    return call(GrpcMethods.RECV_BUF, r, timeout, cancellation);
  }

  @Override
  public CompletableFuture<CompleteGroupResponse> completeGroup(
      CompleteGroupRequest r, Duration timeout, Cancellation cancellation) {
    return call(GrpcMethods.COMPLETE_GROUP, r, timeout, cancellation);
  }

  @Override
  public CompletableFuture<CompleteInstanceResponse> completeInstance(
      CompleteInstanceRequest r, Duration timeout, Cancellation cancellation) {
    return call(GrpcMethods.COMPLETE_INSTANCE, r, timeout, cancellation);
  }

  @Override
  public CompletableFuture<GetStepSequenceResponse> stepSequence(
      GetStepSequenceRequest r, Duration timeout) {
    return call(GrpcMethods.GET_STEP_SEQUENCE, r, timeout);
  }
}
