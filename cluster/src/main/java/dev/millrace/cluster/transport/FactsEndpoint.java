package dev.millrace.cluster.transport;

import dev.millrace.base.Gauges;
import dev.millrace.base.ProcessMemory;
import dev.millrace.base.Version;
import dev.millrace.base.context.Context;
import dev.millrace.base.steps.Figure;
import dev.millrace.base.steps.Phase;
import dev.millrace.base.steps.ProcessSampler;
import dev.millrace.base.steps.StepHistory;
import dev.millrace.cluster.http2.GrpcMethods;
import dev.millrace.cluster.link.Link;
import dev.millrace.cluster.link.Links;
import dev.millrace.cluster.master.Master;
import dev.millrace.proto.TaskFacts;
import dev.millrace.proto.TaskFactsRequest;
import dev.millrace.proto.TaskLink;
import dev.millrace.proto.TaskSecond;
import dev.millrace.proto.TaskSpan;
import dev.millrace.tensor.BufferPool;
import io.grpc.ServerServiceDefinition;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;

/**
 * Tells how this task is: its version, clock and memory, what its master has run, what the process
 * shows by {@link Gauges}, and the {@link StepHistory} of its last minutes.
 *
 * <p>Threading: any thread.
 */
public final class FactsEndpoint {
  private static final List<String> FIGURES = Figure.ALL.stream().map(Figure::label).toList();

  private static final long LONGEST_RECORD_MILLIS = 60_000;

  private final Master master;
  private final Links links;
  private final Context context = Context.current();
  private final StepHistory history = StepHistory.current();
  private final ServedMethods methods = new ServedMethods();

  /** The facts of the task whose sessions {@code master} keeps, and whose links these are. */
  public FactsEndpoint(Master master, Links links) {
    this.master = master;
    this.links = links;
    methods.add(GrpcMethods.FACTS, this::facts);
  }

  /** The methods, for calls over links. */
  ServedMethods methods() {
    return methods;
  }

  ServerServiceDefinition service() {
    ServerServiceDefinition.Builder b = ServerServiceDefinition.builder(GrpcMethods.TASK);
    methods.addTo(b);
    return b.build();
  }

  private TaskFacts facts(TaskFactsRequest request) {
    TaskFacts.Builder facts =
        TaskFacts.newBuilder()
            .setVersion(Version.own())
            .setClockMicros(ChronoUnit.MICROS.between(Instant.EPOCH, context.timers().wallTime()))
            .setResidentBytes(ProcessMemory.residentBytes())
            .setHeapBytes(ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed())
            .setTensorBytes(context.call(() -> BufferPool.current().usedBytes()))
            .setSessions(master.sessionCount())
            .setSteps(master.stepCount())
            .putAllGauges(context.gauges().now())
            .putAllNotes(context.gauges().notes())
            .setHost(ProcessSampler.host())
            .setProcessors(Runtime.getRuntime().availableProcessors())
            .setPid(ProcessHandle.current().pid())
            .putAllWaits(history.waits())
            .setPhaseNanos(history.phaseNanos());
    Phase phase = history.phase();
    if (phase != null) {
      facts.setPhase(phase.label());
    }
    for (Link link : links.all()) {
      if (!link.peer().isClient()) {
        facts.addLinks(
            TaskLink.newBuilder()
                .setTask(link.peer().task())
                .setSentBytes(link.sentBytes())
                .setReceivedBytes(link.receivedBytes()));
      }
    }
    if (request.getRecordMillis() > 0) {
      history.record(Duration.ofMillis(Math.min(request.getRecordMillis(), LONGEST_RECORD_MILLIS)));
    }
    if (request.getRecorded()) {
      for (StepHistory.Span s : history.recorded()) {
        facts.addSpans(
            TaskSpan.newBuilder()
                .setEpochNanos(s.epochNanos())
                .setNanos(s.nanos())
                .setStep(s.step())
                .setRow(s.row())
                .setPhase(s.phase().label()));
      }
    }
    if (request.getSecondsAfter() > 0) {
      facts.addAllFigures(FIGURES);
      for (StepHistory.Second s : history.after(request.getSecondsAfter())) {
        TaskSecond.Builder row = TaskSecond.newBuilder().setEpochSecond(s.epochSecond());
        for (long v : s.values()) {
          row.addValues(v);
        }
        facts.addSeconds(row);
      }
    }
    return facts.build();
  }
}
