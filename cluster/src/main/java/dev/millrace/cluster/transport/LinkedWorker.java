package dev.millrace.cluster.transport;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.millrace.base.Cancellation;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.cluster.link.Greeting;
import dev.millrace.cluster.link.Link;
import dev.millrace.cluster.peer.RunGraph;
import dev.millrace.cluster.peer.WorkerPeer;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Rendezvous;
import dev.millrace.proto.CompleteGroupRequest;
import dev.millrace.proto.CompleteGroupResponse;
import dev.millrace.proto.CompleteInstanceRequest;
import dev.millrace.proto.CompleteInstanceResponse;
import dev.millrace.proto.CreateWorkerSessionRequest;
import dev.millrace.proto.DeviceAttributes;
import dev.millrace.proto.GetStatusResponse;
import dev.millrace.proto.GetStepSequenceRequest;
import dev.millrace.proto.GetStepSequenceResponse;
import dev.millrace.proto.RecvBufRequest;
import dev.millrace.proto.RecvBufResponse;
import dev.millrace.tensor.Tensor;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * A task in another process: one of ours over a link where one can be had, any other by the
 * WorkerService. What happens once per session goes by the WorkerService always.
 *
 * <p>Threading: any thread.
 */
final class LinkedWorker implements WorkerPeer {
  private static final long RETRY_NANOS = 1_000_000_000L;
  private static final Duration GREETING = Duration.ofSeconds(3);

  private final GrpcWorker byGrpc;
  private final LinkEndpoint links;

  /** Greeted, and known not to be one of ours. */
  private volatile boolean foreign;

  /** Whether there has been a link to this task. */
  private volatile boolean linkedBefore;

  private volatile long greetedNanos;

  LinkedWorker(GrpcWorker byGrpc, LinkEndpoint links) {
    this.byGrpc = byGrpc;
    this.links = links;
  }

  GrpcWorker byGrpc() {
    return byGrpc;
  }

  @Override
  public String name() {
    return byGrpc.name();
  }

  @Override
  public String address() {
    return byGrpc.address();
  }

  private Link link() {
    return links.to(name());
  }

  /** A call by gRPC to a process that is linked ends with the link. */
  private <T> CompletableFuture<T> guard(CompletableFuture<T> call) {
    Link link = link();
    return link == null ? call : link.guard(call);
  }

  /** Also opens a link to it if it is one of ours. */
  @Override
  public CompletableFuture<List<DeviceAttributes>> status(Duration timeout) {
    return greeting(timeout)
        .thenCompose(
            g ->
                g == null ? byGrpc.status(timeout) : CompletableFuture.completedFuture(devices(g)));
  }

  private static List<DeviceAttributes> devices(Greeting g) {
    try {
      return GetStatusResponse.parseFrom(g.devices()).getDeviceAttributesList();
    } catch (InvalidProtocolBufferException e) {
      throw MillraceException.internal("A greeting could not be read: %s", e.getMessage());
    }
  }

  @Override
  public CompletableFuture<Void> greet(Duration timeout) {
    return link() != null || foreign
        ? CompletableFuture.completedFuture(null)
        : greeting(timeout).thenApply(g -> null);
  }

  /** What the peer says of itself, or null if it is not one of ours. */
  private CompletableFuture<Greeting> greeting(Duration timeout) {
    greetedNanos = links.timers().now();
    if (!LinkEndpoint.areWanted()) {
      foreign = true;
      return CompletableFuture.completedFuture(null);
    }
    return byGrpc
        .exchangeGreetings(links.ownGreeting().encode(), timeout)
        .handle(
            (answer, e) -> {
              MillraceException failure = e == null ? null : MillraceException.of(e);
              foreign = failure != null && failure.code() == Code.UNIMPLEMENTED;
              if (foreign) {
                return null;
              }
              if (failure != null) {
                throw failure;
              }
              return answer;
            })
        .thenApplyAsync(
            answer -> answer == null ? null : links.connect(name(), byGrpc.address(), answer),
            links.threads());
  }

  @Override
  public CompletableFuture<Void> createSession(CreateWorkerSessionRequest r, Duration timeout) {
    return guard(byGrpc.createSession(r, timeout));
  }

  @Override
  public CompletableFuture<Void> deleteSession(String handle, Duration timeout) {
    return guard(byGrpc.deleteSession(handle, timeout));
  }

  @Override
  public CompletableFuture<String> registerGraph(String session, Graph graph) {
    return guard(byGrpc.registerGraph(session, graph));
  }

  @Override
  public CompletableFuture<List<Tensor>> runGraph(RunGraph call, Cancellation cancellation) {
    Link link = link();
    if (link != null) {
      linkedBefore = true;
      return link.run(call, cancellation);
    }
    if (linkedBefore && !foreign) {
      return relinked()
          .thenCompose(
              g -> {
                Link again = link();
                return again == null
                    ? byGrpc.runGraph(call, cancellation)
                    : again.run(call, cancellation);
              });
    }
    if (!foreign && links.timers().now() - greetedNanos > RETRY_NANOS) {
      // Later steps are faster over a link.
      greeting(GREETING).exceptionally(e -> null);
    }
    return byGrpc.runGraph(call, cancellation);
  }

  /**
   * Greets a task whose link was lost and that may be back. A gRPC call to a stopped task would
   * wait in its socket, and run there after it was given up here.
   */
  private CompletableFuture<Greeting> relinked() {
    return greeting(GREETING)
        .exceptionally(
            e -> {
              MillraceException m = MillraceException.of(e);
              throw m.code() != Code.DEADLINE_EXCEEDED
                  ? m
                  : new MillraceException(
                      Code.UNAVAILABLE,
                      name()
                          + " at "
                          + address()
                          + " has not answered for "
                          + GREETING.toSeconds()
                          + " s: its process is stopped, its host or the network is down.",
                      m);
            });
  }

  @Override
  public CompletableFuture<List<Tensor>> runPartialGraph(
      RunGraph call, boolean last, Cancellation cancellation) {
    return byGrpc.runPartialGraph(call, last, cancellation);
  }

  @Override
  public void cleanupStep(long stepId) {
    Link link = link();
    if (link != null) {
      link.cleanup(stepId);
    } else {
      byGrpc.cleanupStep(stepId);
    }
  }

  @Override
  public CompletableFuture<Void> cleanupAll(List<String> containers, Duration timeout) {
    return guard(byGrpc.cleanupAll(containers, timeout));
  }

  @Override
  public void recvTensor(
      long stepId, Rendezvous.Key key, Cancellation cancellation, Rendezvous.Receiver receiver) {
    byGrpc.recvTensor(stepId, key, cancellation, receiver);
  }

  @Override
  public CompletableFuture<RecvBufResponse> recvBuffer(
      RecvBufRequest r, Duration timeout, Cancellation cancellation) {
    return guard(byGrpc.recvBuffer(r, timeout, cancellation));
  }

  @Override
  public CompletableFuture<CompleteGroupResponse> completeGroup(
      CompleteGroupRequest r, Duration timeout, Cancellation cancellation) {
    return guard(byGrpc.completeGroup(r, timeout, cancellation));
  }

  @Override
  public CompletableFuture<CompleteInstanceResponse> completeInstance(
      CompleteInstanceRequest r, Duration timeout, Cancellation cancellation) {
    return guard(byGrpc.completeInstance(r, timeout, cancellation));
  }

  @Override
  public CompletableFuture<GetStepSequenceResponse> stepSequence(
      GetStepSequenceRequest r, Duration timeout) {
    return guard(byGrpc.stepSequence(r, timeout));
  }
}
