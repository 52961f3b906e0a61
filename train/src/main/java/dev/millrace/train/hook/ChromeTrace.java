package dev.millrace.train.hook;

import dev.millrace.runtime.exec.StepTrace;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * A step's trace in the form Chrome's trace viewer reads: a process per device, a row per thread.
 */
final class ChromeTrace {
  private ChromeTrace() {}

  static String of(StepTrace trace) {
    Map<String, Integer> devices = new LinkedHashMap<>();
    Map<String, Integer> threads = new LinkedHashMap<>();
    StringBuilder events = new StringBuilder("{\"traceEvents\":[\n");
    String separator = "";
    for (StepTrace.Entry e : trace.entries()) {
      int process = number(devices, e.device());
      int thread = number(threads, e.device() + " " + e.thread());
      events
          .append(separator)
          .append("{\"ph\":\"X\",\"cat\":\"Op\",\"name\":")
          .append(quoted(e.node().op().name()))
          .append(",\"pid\":")
          .append(process)
          .append(",\"tid\":")
          .append(thread)
          .append(",\"ts\":")
          .append(micros(e.startNanos()))
          .append(",\"dur\":")
          .append(micros(e.durationNanos()))
          .append(",\"args\":{\"name\":")
          .append(quoted(e.node().name()))
          .append("}}");
      separator = ",\n";
    }
    for (Map.Entry<String, Integer> d : devices.entrySet()) {
      events
          .append(separator)
          .append("{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":")
          .append(d.getValue())
          .append(",\"args\":{\"name\":")
          .append(quoted(d.getKey()))
          .append("}}");
      separator = ",\n";
    }
    return events.append("\n]}\n").toString();
  }

  private static int number(Map<String, Integer> numbers, String key) {
    return numbers.computeIfAbsent(key, k -> numbers.size());
  }

  /** Microseconds with the nanoseconds behind the point. */
  private static String micros(long nanos) {
    return nanos / 1000 + "." + String.format("%03d", nanos % 1000);
  }

  private static String quoted(String text) {
    StringBuilder s = new StringBuilder("\"");
    for (char c : text.toCharArray()) {
      if (c == '"' || c == '\\') {
        s.append('\\').append(c);
      } else if (c < ' ') {
        s.append(String.format("\\u%04x", (int) c));
      } else {
        s.append(c);
      }
    }
    return s.append('"').toString();
  }
}
