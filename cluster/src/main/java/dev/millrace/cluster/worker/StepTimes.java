package dev.millrace.cluster.worker;

import dev.millrace.cluster.peer.StepReport;
import dev.millrace.proto.DeviceStepStats;
import dev.millrace.proto.NodeExecStats;
import dev.millrace.runtime.trace.StepTrace;
import java.util.LinkedHashMap;
import java.util.Map;

/** A step's trace in the form TensorFlow's timelines are made from. */
final class StepTimes {
  private StepTimes() {}

  static void give(StepTrace trace, StepReport report) {
    Map<String, DeviceStepStats.Builder> byDevice = new LinkedHashMap<>();
    for (StepTrace.Entry e : trace.entries()) {
      byDevice
          .computeIfAbsent(e.device(), d -> DeviceStepStats.newBuilder().setDevice(d))
          .addNodeStats(stats(e));
    }
    byDevice.values().forEach(b -> report.addTimes(b.build()));
  }

  private static NodeExecStats stats(StepTrace.Entry e) {
    return NodeExecStats.newBuilder()
        .setNodeName(e.node())
        .setTimelineLabel(e.node() + " = " + e.op() + "(" + String.join(", ", e.inputs()) + ")")
        .setAllStartMicros(e.startNanos() / 1000)
        .setAllStartNanos(e.startNanos())
        .setScheduledMicros(e.startNanos() / 1000)
        .setScheduledNanos(e.startNanos())
        .setOpEndRelMicros(e.durationNanos() / 1000)
        .setOpEndRelNanos(e.durationNanos())
        .setAllEndRelMicros(e.durationNanos() / 1000)
        .setAllEndRelNanos(e.durationNanos())
        .setThreadId(e.thread().hashCode() & 0xFFFF)
        .build();
  }
}
