package dev.millrace.cluster.transport;

import dev.millrace.base.Cancellation;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.base.context.Context;
import dev.millrace.cluster.http2.GrpcErrors;
import dev.millrace.cluster.http2.GrpcMethods;
import dev.millrace.cluster.http2.ReceivedTensor;
import dev.millrace.cluster.http2.TensorCall;
import dev.millrace.cluster.http2.TensorChannel;
import dev.millrace.cluster.peer.RunGraph;
import dev.millrace.graph.Rendezvous;
import dev.millrace.proto.ExecutorOpts;
import dev.millrace.proto.NamedTensorProto;
import dev.millrace.proto.RecvTensorRequest;
import dev.millrace.proto.RunGraphRequest;
import dev.millrace.proto.RunGraphResponse;
import dev.millrace.proto.TaskFacts;
import dev.millrace.proto.TaskFactsRequest;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Tensor;
import dev.millrace.wire.TensorCodec;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ConnectivityState;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongPredicate;

/** A task in another process, ours or TensorFlow's, reached by the WorkerService. */
final class GrpcWorker extends RemoteWorker {
  private final Timers timers = Context.current().timers();
  private final String name;
  private final String address;
  private final ManagedChannel channel;

  /** Calls that may take long. */
  private final Set<CompletableFuture<?>> underWay = ConcurrentHashMap.newKeySet();

  private final AtomicBoolean checking = new AtomicBoolean();
  private TensorChannel tensors;

  GrpcWorker(String name, String address, ManagedChannel channel) {
    this.name = name;
    this.address = address;
    this.channel = channel;
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public String address() {
    return address;
  }

  /** Exchanges greetings; fails with UNIMPLEMENTED if the peer is not one of ours. */
  CompletableFuture<byte[]> exchangeGreetings(byte[] mine, Duration timeout) {
    return call(GrpcMethods.GREET, mine, timeout, null);
  }

  /**
   * Asks whether the peer is there if calls that may take long are under way, and fails them if it
   * does not answer: a connection alone does not tell a stopped process from a busy one.
   *
   * @param heldUpSince whether this process was held up itself since a time of the nano clock
   */
  void checkAlive(Duration patience, LongPredicate heldUpSince) {
    if (underWay.isEmpty() || !checking.compareAndSet(false, true)) {
      return;
    }
    // On a busy machine the first connection alone may take as long as that.
    Duration limit =
        channel.getState(false) == ConnectivityState.READY ? patience : patience.multipliedBy(4);
    long start = timers.now();
    status(limit)
        .whenComplete(
            (devices, e) -> {
              checking.set(false);
              boolean late = timers.now() - start > limit.toNanos() + 1_000_000_000L;
              if (e != null
                  && MillraceException.of(e).code() == Code.DEADLINE_EXCEEDED
                  && !late
                  && !heldUpSince.test(start)) {
                MillraceException lost =
                    new MillraceException(
                        Code.UNAVAILABLE,
                        String.format(
                            Locale.ROOT,
                            "%s has not answered for %.1f s: its process is stopped, its host or"
                                + " the network is down.",
                            place(),
                            limit.toMillis() / 1e3));
                endTensors(lost);
                underWay.forEach(f -> f.completeExceptionally(lost));
              }
            });
  }

  private String place() {
    return name + " at " + address;
  }

  CompletableFuture<TaskFacts> facts(TaskFactsRequest request, Duration timeout) {
    return call(GrpcMethods.FACTS, request, timeout, null);
  }

  /** There is no faster way by this peer alone. */
  @Override
  public CompletableFuture<Void> greet(Duration timeout) {
    return CompletableFuture.completedFuture(null);
  }

  @Override
  public CompletableFuture<List<Tensor>> runGraph(RunGraph run, Cancellation cancellation) {
    return runGraph(run, request(run), cancellation);
  }

  @Override
  public CompletableFuture<List<Tensor>> runPartialGraph(
      RunGraph run, boolean last, Cancellation cancellation) {
    return runGraph(run, request(run).setIsPartial(true).setIsLastPartialRun(last), cancellation);
  }

  private CompletableFuture<List<Tensor>> runGraph(
      RunGraph run, RunGraphRequest.Builder request, Cancellation cancellation) {
    return call(GrpcMethods.RUN_GRAPH, request.build(), null, cancellation)
        .thenApply(r -> results(run, r));
  }

  private RunGraphRequest.Builder request(RunGraph run) {
    RunGraphRequest.Builder b =
        RunGraphRequest.newBuilder()
            .setSessionHandle(run.sessionHandle())
            .setCreateWorkerSessionCalled(run.ownSession())
            .setGraphHandle(run.graphHandle())
            .setStepId(run.stepId())
            .setExecOpts(ExecutorOpts.newBuilder().setRecordTimeline(run.report().isTraced()))
            .addAllRecvKey(run.fetchKeys())
            .setStoreErrorsInResponseBody(true)
            .setRequestId(requestId());
    run.feeds()
        .forEach(
            (key, t) ->
                b.addSend(
                    NamedTensorProto.newBuilder().setName(key).setTensor(TensorCodec.encode(t))));
    return b;
  }

  private List<Tensor> results(RunGraph run, RunGraphResponse r) {
    if (r.getStatusCodeValue() != 0) {
      throw GrpcErrors.decode(Code.of(r.getStatusCodeValue()), r.getStatusErrorMessage());
    }
    if (run.report().isTraced()) {
      r.getStepStats().getDevStatsList().forEach(run.report()::addTimes);
    }
    Map<String, Tensor> byKey = new HashMap<>();
    r.getRecvList().forEach(n -> byKey.put(n.getName(), TensorCodec.decodeCounted(n.getTensor())));
    List<Tensor> values = new ArrayList<>();
    for (String key : run.fetchKeys()) {
      Tensor t = byKey.remove(key);
      if (t == null) {
        throw MillraceException.internal("%s did not return the tensor for %s.", place(), key);
      }
      values.add(t);
    }
    byKey.values().forEach(Refs::release);
    return values;
  }

  @Override
  public void recvTensor(
      long stepId, Rendezvous.Key key, Cancellation cancellation, Rendezvous.Receiver receiver) {
    RecvTensorRequest r =
        RecvTensorRequest.newBuilder()
            .setStepId(stepId)
            .setRendezvousKey(key.full())
            .setRequestId(requestId())
            .build();
    TensorCall call = new TensorCall(place());
    CompletableFuture<ReceivedTensor> future = call.future();
    underWay.add(future);
    future.whenComplete(
        (t, e) -> {
          underWay.remove(future);
          if (e != null) {
            receiver.failed(MillraceException.of(e));
          } else {
            receiver.received(t.value(), t.dead());
          }
        });
    tensors().ask(r, call);
    if (!future.isDone()) {
      Cancellation.Registration onCancel =
          cancellation.onCancel(() -> call.cancel(cancellation.cause()));
      future.whenComplete((t, e) -> onCancel.close());
    }
  }

  /** The connection for tensors; another one if the last has ended. */
  private synchronized TensorChannel tensors() {
    if (tensors == null || tensors.isClosed()) {
      tensors = new TensorChannel(name, address);
    }
    return tensors;
  }

  /** Ends the connection for tensors, if there is one. */
  private void endTensors(MillraceException cause) {
    TensorChannel t;
    synchronized (this) {
      t = tensors;
    }
    if (t != null) {
      t.fail(cause);
    }
  }

  private static long requestId() {
    long id;
    do {
      id = ThreadLocalRandom.current().nextLong();
    } while (id == 0);
    return id;
  }

  /**
   * One call; cancelling it ends it here and tells the peer. It is made outside the context of the
   * call being served, if any: it may outlive that.
   */
  @Override
  <Q, R> CompletableFuture<R> call(
      MethodDescriptor<Q, R> method, Q request, Duration timeout, Cancellation cancellation) {
    io.grpc.Context serving = io.grpc.Context.ROOT.attach();
    try {
      return callDetached(method, request, timeout, cancellation);
    } finally {
      io.grpc.Context.ROOT.detach(serving);
    }
  }

  private <Q, R> CompletableFuture<R> callDetached(
      MethodDescriptor<Q, R> method, Q request, Duration timeout, Cancellation cancellation) {
    CallOptions options = CallOptions.DEFAULT.withExecutor(Runnable::run);
    if (timeout != null) {
      options = options.withDeadlineAfter(timeout.toNanos(), TimeUnit.NANOSECONDS);
    }
    if (channel.getState(false) == ConnectivityState.TRANSIENT_FAILURE) {
      // Somebody wants the peer now: do not sit out gRPC's growing pauses between attempts.
      channel.resetConnectBackoff();
    }
    ClientCall<Q, R> call = channel.newCall(method, options);
    CompletableFuture<R> future = new CompletableFuture<>();
    Cancellation.Registration[] onCancel = new Cancellation.Registration[1];
    ClientCalls.asyncUnaryCall(
        call,
        request,
        new StreamObserver<R>() {
          private R value;

          @Override
          public void onNext(R v) {
            value = v;
          }

          @Override
          public void onError(Throwable t) {
            MillraceException e = GrpcErrors.decode(t, place());
            MillraceException cause = cancellation == null ? null : cancellation.cause();
            future.completeExceptionally(e.code() == Code.CANCELLED && cause != null ? cause : e);
          }

          @Override
          public void onCompleted() {
            future.complete(value);
          }
        });
    if (method != GrpcMethods.GET_STATUS && method != GrpcMethods.GREET) {
      underWay.add(future);
      future.whenComplete(
          (r, e) -> {
            underWay.remove(future);
            if (e != null) {
              call.cancel("failed", e);
            }
          });
    }
    if (cancellation != null && !future.isDone()) {
      onCancel[0] =
          cancellation.onCancel(() -> call.cancel("the step was cancelled", cancellation.cause()));
      future.whenComplete((r, e) -> onCancel[0].close());
    }
    return future;
  }

  void shutdown() {
    endTensors(
        new MillraceException(Code.CANCELLED, "The connection to " + place() + " was closed."));
    channel.shutdownNow();
  }

  void awaitTermination(long n, TimeUnit unit) {
    try {
      channel.awaitTermination(n, unit);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
