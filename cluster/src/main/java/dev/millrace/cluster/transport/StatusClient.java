package dev.millrace.cluster.transport;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.base.context.Context;
import dev.millrace.cluster.http2.GrpcMethods;
import dev.millrace.cluster.link.Link;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.proto.DeviceAttributes;
import dev.millrace.proto.GetStatusRequest;
import dev.millrace.proto.GetStatusResponse;
import dev.millrace.proto.TaskFacts;
import dev.millrace.proto.TaskFactsRequest;
import io.grpc.MethodDescriptor;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;

/**
 * Asks a task for its status from a process that is not a task itself.
 *
 * <p>Threading: any thread.
 */
public final class StatusClient implements AutoCloseable {
  private final ClientLinks clients = ClientLinks.current();
  private final String task;
  private final String address;
  private final Executor threads;
  private final Timers timers = Context.current().timers();
  private final GrpcWorker worker;

  /** Null until it is needed. Guarded by this. */
  private Link link;

  /** A client of {@code task} at {@code address}; nothing is sent yet. */
  public StatusClient(TaskId task, String address, Executor threads) {
    this.task = task.name();
    this.address = address;
    this.threads = threads;
    worker = new GrpcWorker(task.name(), address, TaskPeers.channel(address, threads));
  }

  /** The devices of the task, if it answers within {@code timeout}. */
  public CompletableFuture<List<DeviceAttributes>> status(Duration timeout) {
    return direct()
        ? call(GrpcMethods.GET_STATUS, GetStatusRequest.getDefaultInstance(), timeout)
            .thenApply(GetStatusResponse::getDeviceAttributesList)
        : worker.status(timeout);
  }

  /** How the task is, if it is a Millrace task and answers within {@code timeout}. */
  public CompletableFuture<TaskFacts> facts(Duration timeout) {
    return facts(0, timeout);
  }

  /** The same, with the seconds of its history after {@code epochSecond}; 0 for none. */
  public CompletableFuture<TaskFacts> facts(long epochSecond, Duration timeout) {
    return facts(TaskFactsRequest.newBuilder().setSecondsAfter(epochSecond).build(), timeout);
  }

  /** The same, with what {@code request} asks for. */
  public CompletableFuture<TaskFacts> facts(TaskFactsRequest request, Duration timeout) {
    return direct() ? call(GrpcMethods.FACTS, request, timeout) : worker.facts(request, timeout);
  }

  private boolean direct() {
    return clients.greetsDirectly(address);
  }

  private <Q, R> CompletableFuture<R> call(
      MethodDescriptor<Q, R> method, Q request, Duration timeout) {
    CompletableFuture<R> answer = new CompletableFuture<>();
    Timers.Timer deadline =
        timers.later(
            timeout.toNanos(),
            () ->
                answer.completeExceptionally(
                    new MillraceException(
                        Code.DEADLINE_EXCEEDED,
                        task
                            + " at "
                            + address
                            + " has not answered within "
                            + timeout.toMillis()
                            + " ms.")));
    CompletableFuture.supplyAsync(() -> link(timeout), threads)
        .thenCompose(l -> LinkCalls.call(l, method, request, timeout, null))
        .whenComplete(
            (r, e) -> {
              deadline.cancel();
              if (e == null) {
                answer.complete(r);
              } else {
                answer.completeExceptionally(MillraceException.of(e));
              }
            });
    return answer;
  }

  private synchronized Link link(Duration timeout) {
    if (link == null || link.loss() != null) {
      try {
        link = clients.connect(task, address, timeout);
      } catch (IOException e) {
        throw new MillraceException(
            Code.UNAVAILABLE, task + " at " + address + ": " + e.getMessage(), e);
      }
    }
    return link;
  }

  @Override
  public void close() {
    worker.shutdown();
    synchronized (this) {
      if (link != null) {
        link.close();
      }
    }
  }
}
