package dev.millrace.serving.served;

import dev.millrace.base.Code;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;

/**
 * Counts of the requests of a server, and how long they took, in Prometheus' text format.
 *
 * <p>Threading: any thread.
 */
public final class ServingMetrics {
  /** The upper ends of the buckets of latencies. */
  private static final double[] SECONDS = {
    1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10
  };

  /** What requests are counted by. The model is empty for one that does not exist. */
  private record Kind(String model, String method, String api) {}

  private static final class Latency {
    final LongAdder[] counts = new LongAdder[SECONDS.length + 1];
    final LongAdder nanos = new LongAdder();
    final Map<Code, LongAdder> codes = new ConcurrentHashMap<>();

    Latency() {
      for (int i = 0; i < counts.length; i++) {
        counts[i] = new LongAdder();
      }
    }
  }

  private final Map<Kind, Latency> requests = new ConcurrentHashMap<>();
  private final LongAdder refused = new LongAdder();
  private final AtomicInteger connections = new AtomicInteger();

  /** Counts a request that was answered. */
  void answered(String model, String method, String api, Code code, long nanos) {
    Latency l = requests.computeIfAbsent(new Kind(model, method, api), k -> new Latency());
    int bucket = 0;
    while (bucket < SECONDS.length && nanos > SECONDS[bucket] * 1e9) {
      bucket++;
    }
    l.counts[bucket].increment();
    l.nanos.add(nanos);
    l.codes.computeIfAbsent(code, c -> new LongAdder()).increment();
  }

  /** Counts a request that was refused before it reached a model. */
  public void refused() {
    refused.increment();
  }

  /** The open HTTP connections, which the port counts. */
  public AtomicInteger connections() {
    return connections;
  }

  /** All of it as text. */
  String text(int inFlight, Map<String, Long> newest) {
    StringBuilder b = new StringBuilder(4096);
    Map<String, Latency> sorted = new TreeMap<>();
    requests.forEach(
        (k, l) ->
            sorted.put(
                "model=\"%s\",method=\"%s\",api=\"%s\""
                    .formatted(escaped(k.model), k.method, k.api),
                l));
    head(b, "millrace_serving_requests_total", "counter", "Requests answered, by their code.");
    sorted.forEach(
        (labels, l) ->
            new TreeMap<>(l.codes)
                .forEach(
                    (code, n) ->
                        line(
                            b,
                            "millrace_serving_requests_total",
                            labels + ",code=\"" + code + "\"",
                            n.sum())));
    String name = "millrace_serving_request_seconds";
    head(b, name, "histogram", "How long requests took.");
    sorted.forEach(
        (labels, l) -> {
          long sum = 0;
          for (int i = 0; i < l.counts.length; i++) {
            sum += l.counts[i].sum();
            String end = i < SECONDS.length ? Double.toString(SECONDS[i]) : "+Inf";
            line(b, name + "_bucket", labels + ",le=\"" + end + "\"", sum);
          }
          b.append(name)
              .append("_sum{")
              .append(labels)
              .append("} ")
              .append(String.format(Locale.ROOT, "%.9f", l.nanos.sum() / 1e9))
              .append('\n');
          line(b, name + "_count", labels, sum);
        });
    head(b, "millrace_serving_requests_in_flight", "gauge", "Requests being served.");
    line(b, "millrace_serving_requests_in_flight", "", inFlight);
    head(b, "millrace_serving_refused_total", "counter", "Requests beyond a limit.");
    line(b, "millrace_serving_refused_total", "", refused.sum());
    head(b, "millrace_serving_http_connections", "gauge", "Open HTTP connections.");
    line(b, "millrace_serving_http_connections", "", connections.get());
    head(b, "millrace_serving_model_version", "gauge", "The newest version that is available.");
    newest.forEach(
        (model, version) ->
            line(b, "millrace_serving_model_version", "model=\"" + escaped(model) + "\"", version));
    Runtime r = Runtime.getRuntime();
    head(b, "millrace_heap_used_bytes", "gauge", "The heap in use.");
    line(b, "millrace_heap_used_bytes", "", r.totalMemory() - r.freeMemory());
    return b.toString();
  }

  private static void head(StringBuilder b, String name, String type, String help) {
    b.append("# HELP ").append(name).append(' ').append(help).append('\n');
    b.append("# TYPE ").append(name).append(' ').append(type).append('\n');
  }

  private static void line(StringBuilder b, String name, String labels, long value) {
    b.append(name);
    if (!labels.isEmpty()) {
      b.append('{').append(labels).append('}');
    }
    b.append(' ').append(value).append('\n');
  }

  private static String escaped(String s) {
    return s.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n");
  }
}
