package dev.millrace.cluster.peer;

import dev.millrace.base.Cancellation;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Rendezvous;
import dev.millrace.proto.CompleteGroupRequest;
import dev.millrace.proto.CompleteGroupResponse;
import dev.millrace.proto.CompleteInstanceRequest;
import dev.millrace.proto.CompleteInstanceResponse;
import dev.millrace.proto.CreateWorkerSessionRequest;
import dev.millrace.proto.DeviceAttributes;
import dev.millrace.proto.GetStepSequenceRequest;
import dev.millrace.proto.GetStepSequenceResponse;
import dev.millrace.proto.RecvBufRequest;
import dev.millrace.proto.RecvBufResponse;
import dev.millrace.tensor.Tensor;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * A task as masters and other workers see it, in this process or another. No call blocks; futures
 * fail with a MillraceException. A {@code timeout} bounds the call.
 */
public interface WorkerPeer extends StepPeer {
  /** The full task name, {@code /job:ps/replica:0/task:0}. */
  String name();

  /** Where it is, for messages: {@code host:port}. */
  String address();

  /** Its devices; also how a task shows it is there. */
  CompletableFuture<List<DeviceAttributes>> status(Duration timeout);

  /** Opens the fastest way to it, unless it is open. Done when it is, or when there is none. */
  CompletableFuture<Void> greet(Duration timeout);

  CompletableFuture<Void> createSession(CreateWorkerSessionRequest request, Duration timeout);

  CompletableFuture<Void> deleteSession(String handle, Duration timeout);

  /** Registers a partition and answers with a handle for {@link #runGraph}. */
  CompletableFuture<String> registerGraph(String session, Graph graph);

  /** The open connection that leads to it now, if it takes steps; else the task itself. */
  default StepPeer way() {
    return this;
  }

  /**
   * Runs part of a partial run. Each call brings some feeds and answers with some fetches; the last
   * call answers when the step has ended.
   */
  CompletableFuture<List<Tensor>> runPartialGraph(
      RunGraph call, boolean last, Cancellation cancellation);

  CompletableFuture<Void> cleanupAll(List<String> containers, Duration timeout);

  /** Fetches a tensor that a step on that task sends. */
  void recvTensor(
      long stepId, Rendezvous.Key key, Cancellation cancellation, Rendezvous.Receiver receiver);

  /** Fetches a piece of a tensor that a collective on that task offers. */
  CompletableFuture<RecvBufResponse> recvBuffer(
      RecvBufRequest request, Duration timeout, Cancellation cancellation);

  /** As the leader of collectives: answers when all devices of the group have joined. */
  CompletableFuture<CompleteGroupResponse> completeGroup(
      CompleteGroupRequest request, Duration timeout, Cancellation cancellation);

  /** As the leader of collectives: answers when it knows what there is to say of an instance. */
  CompletableFuture<CompleteInstanceResponse> completeInstance(
      CompleteInstanceRequest request, Duration timeout, Cancellation cancellation);

  /** As the leader of collectives: the ids of the next steps under some graph keys. */
  CompletableFuture<GetStepSequenceResponse> stepSequence(
      GetStepSequenceRequest request, Duration timeout);
}
