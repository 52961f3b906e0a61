package dev.millrace.cluster.transport;

import dev.millrace.base.Gauges;
import dev.millrace.base.ProcessMemory;
import dev.millrace.base.Version;
import dev.millrace.base.context.Context;
import dev.millrace.cluster.http2.GrpcMethods;
import dev.millrace.cluster.master.Master;
import dev.millrace.proto.TaskFacts;
import dev.millrace.tensor.BufferPool;
import io.grpc.ServerServiceDefinition;
import java.lang.management.ManagementFactory;
import java.time.Instant;
import java.time.temporal.ChronoUnit;

/**
 * Tells whoever asks how this task is: its version, clock and memory, what its master has run, and
 * what the process shows by {@link Gauges}.
 *
 * <p>Threading: any thread.
 */
public final class FactsEndpoint {
  private final Master master;

  /** The facts of the task whose sessions {@code master} keeps. */
  public FactsEndpoint(Master master) {
    this.master = master;
  }

  ServerServiceDefinition service() {
    ServerServiceDefinition.Builder b = ServerServiceDefinition.builder(GrpcMethods.TASK);
    ServedMethods.serve(b, GrpcMethods.FACTS, request -> facts());
    return b.build();
  }

  private TaskFacts facts() {
    return TaskFacts.newBuilder()
        .setVersion(Version.own())
        .setClockMicros(
            ChronoUnit.MICROS.between(Instant.EPOCH, Context.current().timers().wallTime()))
        .setResidentBytes(ProcessMemory.residentBytes())
        .setHeapBytes(ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed())
        .setTensorBytes(BufferPool.current().usedBytes())
        .setSessions(master.sessionCount())
        .setSteps(master.stepCount())
        .putAllGauges(Context.current().gauges().now())
        .build();
  }
}
