package dev.millrace.cluster;

import dev.millrace.proto.DeviceStepStats;
import dev.millrace.proto.NodeExecStats;
import dev.millrace.runtime.trace.StepTrace;
import java.util.List;

/** Puts what the tasks of a cluster say ran when, ours or TensorFlow's, into a step's trace. */
final class StepStatsReader {
  private static final long MICRO = 1000;

  private StepStatsReader() {}

  static void read(DeviceStepStats device, StepTrace trace) {
    for (NodeExecStats n : device.getNodeStatsList()) {
      Label label = Label.of(n.getTimelineLabel());
      trace.add(
          new StepTrace.Entry(
              n.getNodeName(),
              label.op,
              label.inputs,
              device.getDevice(),
              n.getAllStartNanos() > 0 ? n.getAllStartNanos() : n.getAllStartMicros() * MICRO,
              n.getAllEndRelNanos() > 0 ? n.getAllEndRelNanos() : n.getAllEndRelMicros() * MICRO,
              "thread " + Integer.toUnsignedString(n.getThreadId())));
    }
  }

  /** How TensorFlow describes a node: {@code name = Op(input, input)}, at times with more. */
  private record Label(String op, List<String> inputs) {
    static Label of(String text) {
      int equals = text.indexOf(" = ");
      String rest = equals < 0 ? text : text.substring(equals + 3);
      int open = rest.indexOf('(');
      int close = rest.indexOf(')', open);
      if (open < 0 || close < 0) {
        return new Label(rest.isEmpty() ? "unknown" : rest, List.of());
      }
      String inputs = rest.substring(open + 1, close);
      return new Label(
          rest.substring(0, open), inputs.isEmpty() ? List.of() : List.of(inputs.split(", ")));
    }
  }
}
