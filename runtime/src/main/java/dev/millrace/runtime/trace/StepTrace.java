package dev.millrace.runtime.trace;

import dev.millrace.base.Timers;
import dev.millrace.base.context.Context;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What ran in a step, when and for how long, for timelines.
 *
 * <p>Threading: any thread.
 */
public final class StepTrace {
  /**
   * One execution of a node; times in nanoseconds, the start since the epoch.
   *
   * @param inputs the names of what it was given, as far as is known
   */
  public record Entry(
      String node,
      String op,
      List<String> inputs,
      String device,
      long startNanos,
      long durationNanos,
      String thread) {}

  private final long epochOffsetNanos;

  private final List<Entry> entries = new ArrayList<>();

  /** A trace with times by the clock of the calling thread's context. */
  public StepTrace() {
    this(Context.current().timers());
  }

  /** A trace with times by this clock. */
  public StepTrace(Timers timers) {
    epochOffsetNanos = timers.wallTime().toEpochMilli() * 1_000_000 - timers.now();
  }

  /** Adds an execution of a node in this process; the times are those of the trace's clock. */
  public synchronized void add(Node node, long startNano, long endNano) {
    entries.add(
        new Entry(
            node.name(),
            node.op().name(),
            node.inputs().stream().map(Output::inputName).toList(),
            node.device(),
            startNano + epochOffsetNanos,
            endNano - startNano,
            Thread.currentThread().getName()));
  }

  /** Adds what ran elsewhere. */
  public synchronized void add(Entry entry) {
    entries.add(entry);
  }

  /** The executions so far, in the order in which they ended. */
  public synchronized List<Entry> entries() {
    return List.copyOf(entries);
  }

  /**
   * The step as a trace in Chrome's JSON format, which chrome://tracing and Perfetto show: a
   * process for each device, in it a row for each thread.
   */
  public String toChromeTrace() {
    Map<String, Integer> devices = new LinkedHashMap<>();
    Map<String, Integer> threads = new LinkedHashMap<>();
    StringBuilder json = new StringBuilder("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
    String separator = "";
    for (Entry e : entries()) {
      int device = devices.computeIfAbsent(e.device, _ -> devices.size());
      int thread = threads.computeIfAbsent(e.thread, _ -> threads.size());
      json.append(separator)
          .append("{\"ph\":\"X\",\"cat\":\"Op\",\"name\":")
          .append(quoted(e.op))
          .append(",\"pid\":" + device + ",\"tid\":" + thread)
          .append(",\"ts\":" + micros(e.startNanos) + ",\"dur\":" + micros(e.durationNanos))
          .append(",\"args\":{\"name\":" + quoted(e.node) + ",\"inputs\":")
          .append(quoted(e.inputs.toString()))
          .append("}}");
      separator = ",\n";
    }
    for (Map.Entry<String, Integer> d : devices.entrySet()) {
      json.append(separator)
          .append("{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":" + d.getValue())
          .append(",\"args\":{\"name\":" + quoted(d.getKey()) + "}}");
      separator = ",\n";
    }
    return json.append("]}").toString();
  }

  private static String micros(long nanos) {
    return BigDecimal.valueOf(nanos, 3).toPlainString();
  }

  private static String quoted(String s) {
    return '"' + s.replace("\\", "\\\\").replace("\"", "\\\"") + '"';
  }
}
