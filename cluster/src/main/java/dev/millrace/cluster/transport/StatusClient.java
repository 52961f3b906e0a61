package dev.millrace.cluster.transport;

import dev.millrace.cluster.spec.TaskId;
import dev.millrace.proto.DeviceAttributes;
import dev.millrace.proto.TaskFacts;
import dev.millrace.proto.TaskFactsRequest;
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
  private final GrpcWorker worker;

  /** A client of {@code task} at {@code address}; nothing is sent yet. */
  public StatusClient(TaskId task, String address, Executor threads) {
    worker = new GrpcWorker(task.name(), address, TaskPeers.channel(address, threads));
  }

  /** The devices of the task, if it answers within {@code timeout}. */
  public CompletableFuture<List<DeviceAttributes>> status(Duration timeout) {
    return worker.status(timeout);
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
    return worker.facts(request, timeout);
  }

  @Override
  public void close() {
    worker.shutdown();
  }
}
