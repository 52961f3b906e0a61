package dev.millrace.cluster.transport;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.millrace.base.Cancellation;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.cluster.link.Greeting;
import dev.millrace.cluster.link.Link;
import dev.millrace.cluster.peer.RunGraph;
import dev.millrace.cluster.peer.StepPeer;
import dev.millrace.graph.Rendezvous;
import dev.millrace.proto.DeviceAttributes;
import dev.millrace.proto.GetStatusResponse;
import dev.millrace.tensor.Tensor;
import io.grpc.MethodDescriptor;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * A task in another process. Every call to one of ours goes over a link, which is opened first if
 * need be. A task of TensorFlow, and one of ours that no link leads to, is called by gRPC.
 *
 * <p>Threading: any thread.
 */
final class LinkedWorker extends RemoteWorker {
  /** How long a task that could not be linked to is called by gRPC before another attempt. */
  private static final long RETRY_NANOS = 1_000_000_000L;

  private static final Duration GREETING = Duration.ofSeconds(3);

  private final String name;
  private final String address;
  private final LinkEndpoint links;

  /** Null in a task that has links only. */
  private final GrpcWorker byGrpc;

  /** Greeted, and known not to be one of ours. */
  private volatile boolean foreign;

  /** Whether there has been a link to this task. */
  private volatile boolean linkedBefore;

  /** When a greeting was last answered and no link could be opened; 0 if never. */
  private volatile long unlinkedNanos;

  LinkedWorker(String name, String address, LinkEndpoint links, GrpcWorker byGrpc) {
    this.name = name;
    this.address = address;
    this.links = links;
    this.byGrpc = byGrpc;
  }

  GrpcWorker byGrpc() {
    return byGrpc;
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public String address() {
    return address;
  }

  // ---- the way to it ----

  private Link link() {
    Link link = links.to(name);
    if (link != null) {
      linkedBefore = true;
    }
    return link;
  }

  @Override
  public StepPeer way() {
    Link link = link();
    return link != null ? link : this;
  }

  /** Calls over the link, which is opened first, or by gRPC where there is none. */
  private <T> CompletableFuture<T> reach(
      Function<Link, CompletableFuture<T>> overLink, Supplier<CompletableFuture<T>> otherwise) {
    Link link = link();
    if (link != null) {
      return overLink.apply(link);
    }
    boolean unlinked =
        !linkedBefore
            && unlinkedNanos != 0
            && links.timers().since(unlinkedNanos) < RETRY_NANOS
            && byGrpc != null;
    if (foreign || unlinked) {
      return otherwise.get();
    }
    return relinked()
        .thenCompose(
            g -> {
              Link opened = link();
              return opened == null ? otherwise.get() : overLink.apply(opened);
            });
  }

  /**
   * Greets a task that has no link, or has lost it and may be back. A gRPC call to a stopped task
   * would wait in its socket, and run there after it was given up here.
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
                      name
                          + " at "
                          + address
                          + " has not answered for "
                          + GREETING.toSeconds()
                          + " s: its process is stopped, its host or the network is down.",
                      m);
            });
  }

  /**
   * What the peer says of itself, or null if it is not one of ours. Opens a link to one of ours.
   */
  private CompletableFuture<Greeting> greeting(Duration timeout) {
    if (!LinkEndpoint.areWanted()) {
      foreign = true;
      return CompletableFuture.completedFuture(null);
    }
    byte[] own = links.ownGreeting().encode();
    return (byGrpc != null
            ? byGrpc.exchangeGreetings(own, timeout)
            : links.exchangeGreetings(name, address, own, timeout))
        .handle(
            (answer, e) -> {
              MillraceException failure = e == null ? null : MillraceException.of(e);
              foreign = failure != null && failure.code() == Code.UNIMPLEMENTED && byGrpc != null;
              if (foreign) {
                return null;
              }
              if (failure != null) {
                throw failure;
              }
              return answer;
            })
        .thenApplyAsync(this::connect, links.threads());
  }

  private Greeting connect(byte[] answer) {
    if (answer == null) {
      return null;
    }
    Greeting g = links.connect(name, address, answer);
    unlinkedNanos = link() != null ? 0 : links.timers().now() | 1;
    return g;
  }

  private <T> CompletableFuture<T> noWay() {
    return CompletableFuture.failedFuture(
        new MillraceException(
            Code.UNAVAILABLE, name + " at " + address + " was greeted, but no link opened."));
  }

  // ---- calls ----

  @Override
  <Q, R> CompletableFuture<R> call(
      MethodDescriptor<Q, R> method, Q request, Duration timeout, Cancellation cancellation) {
    return reach(
        link -> LinkCalls.call(link, method, request, timeout, cancellation),
        () -> byGrpc == null ? noWay() : byGrpc.call(method, request, timeout, cancellation));
  }

  /** Also opens a link to it if it is one of ours. */
  @Override
  public CompletableFuture<List<DeviceAttributes>> status(Duration timeout) {
    return link() != null
        ? super.status(timeout)
        : greeting(timeout)
            .thenCompose(
                g ->
                    g == null
                        ? byGrpc.status(timeout)
                        : CompletableFuture.completedFuture(devices(g)));
  }

  /** Asks it without opening a link: tasks that only check each other's liveness need none. */
  CompletableFuture<List<DeviceAttributes>> probe(Duration timeout) {
    return link() == null && byGrpc != null ? byGrpc.status(timeout) : status(timeout);
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

  @Override
  public CompletableFuture<List<Tensor>> runGraph(RunGraph call, Cancellation cancellation) {
    return reach(
        link -> link.runGraph(call, cancellation),
        () -> byGrpc == null ? noWay() : byGrpc.runGraph(call, cancellation));
  }

  @Override
  public CompletableFuture<List<Tensor>> runPartialGraph(
      RunGraph call, boolean last, Cancellation cancellation) {
    throw new IllegalStateException("Only the master's own task runs a step bit by bit.");
  }

  @Override
  public void cleanupStep(long stepId) {
    Link link = link();
    if (link != null) {
      link.cleanupStep(stepId);
    } else if (byGrpc != null) {
      byGrpc.cleanupStep(stepId);
    }
  }

  /** Without gRPC a link is opened, over which the other side pushes what waits there. */
  @Override
  public void recvTensor(
      long stepId, Rendezvous.Key key, Cancellation cancellation, Rendezvous.Receiver receiver) {
    if (byGrpc != null) {
      byGrpc.recvTensor(stepId, key, cancellation, receiver);
      return;
    }
    relinked()
        .whenComplete(
            (g, e) -> {
              if (e != null) {
                receiver.failed(MillraceException.of(e));
              }
            });
  }
}
