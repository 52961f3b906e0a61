package dev.millrace.collective;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.slf4j.LoggerFactory;

/**
 * A record of what a rank's operations waited for and when they ran, as a file for the Chrome trace
 * viewer. Every name is a row; on it an operation is first negotiated, until all ranks have
 * submitted it, and then run, alone or with others. The file is readable even if the process dies
 * before its end.
 *
 * <p>Threading: any thread.
 */
final class Timeline implements AutoCloseable {
  private static final long FLUSH_NANOS = 1_000_000_000L;

  private final BufferedWriter out;
  private final Timers timers;
  private final long startNanos;
  private final Map<String, Integer> rows = new HashMap<>();
  private long flushedNanos;
  private boolean broken;

  private Timeline(BufferedWriter out, Timers timers) {
    this.out = out;
    this.timers = timers;
    this.startNanos = timers.now();
    this.flushedNanos = startNanos;
  }

  /** Begins a file, in place of what was there. */
  static Timeline open(Path file, Timers timers) {
    try {
      Timeline t = new Timeline(Files.newBufferedWriter(file), timers);
      t.out.write(
          "[\n{\"name\": \"start\", \"ph\": \"i\", \"pid\": 0, \"ts\": 0, \"s\": \"g\", \"args\":"
              + " {\"start_time_since_epoch_in_micros\": "
              + timers.wallTime().toEpochMilli() * 1000
              + "}}");
      return t;
    } catch (IOException e) {
      throw new MillraceException(
          Code.FAILED_PRECONDITION,
          "Cannot write the timeline " + file + ": " + e.getMessage() + ".",
          e);
    }
  }

  /** This rank has submitted an operation. */
  synchronized void submitted(Request r) {
    event(r, "B", "NEGOTIATE_" + r.kind().name(), "");
  }

  /** All ranks have, and these now run together. */
  synchronized void started(List<Request> requests) {
    long bytes = requests.stream().mapToLong(Timeline::bytes).sum();
    for (Request r : requests) {
      event(r, "E", "NEGOTIATE_" + r.kind().name(), "");
      String args =
          String.format(
              ", \"args\": {\"what\": %s, \"together\": %d, \"bytes of all\": %d}",
              quote(r.describe()), requests.size(), bytes);
      event(r, "B", r.kind().name(), args);
    }
  }

  /** These are over, one way or another. */
  synchronized void ended(List<Request> requests) {
    for (Request r : requests) {
      event(r, "E", r.kind().name(), "");
    }
    long now = timers.now();
    if (now - flushedNanos > FLUSH_NANOS) {
      flushedNanos = now;
      attempt(out::flush);
    }
  }

  /** A bucket of a sequence, tensors {@code from} to {@code to}, is reduced. */
  synchronized void begin(Request sequence, int from, int to) {
    event(sequence, "B", "BUCKET", ", \"args\": {\"from\": " + from + ", \"to\": " + to + "}");
  }

  /** The bucket that was begun last is over. */
  synchronized void end(Request sequence) {
    event(sequence, "E", "BUCKET", "");
  }

  private static long bytes(Request r) {
    return r.dtype() == null ? 0 : r.bytes();
  }

  private void event(Request r, String phase, String name, String args) {
    double micros = (timers.now() - startNanos) / 1e3;
    int row = row(r.name());
    attempt(
        () ->
            out.write(
                String.format(
                    Locale.ROOT,
                    ",%n{\"ph\": \"%s\", \"name\": \"%s\", \"pid\": %d, \"tid\": 0, \"ts\":"
                        + " %.1f%s}",
                    phase,
                    name,
                    row,
                    micros,
                    args)));
  }

  private int row(String name) {
    Integer known = rows.get(name);
    if (known != null) {
      return known;
    }
    int row = rows.size() + 1;
    rows.put(name, row);
    attempt(
        () ->
            out.write(
                String.format(
                    ",%n{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": %d, \"args\":"
                        + " {\"name\": %s}}",
                    row, quote(name))));
    return row;
  }

  private static String quote(String text) {
    StringBuilder s = new StringBuilder("\"");
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
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

  private interface Writing {
    void run() throws IOException;
  }

  /** A full disk must not end the training: after the first failure nothing more is recorded. */
  private void attempt(Writing writing) {
    if (broken) {
      return;
    }
    try {
      writing.run();
    } catch (IOException e) {
      broken = true;
      LoggerFactory.getLogger(Timeline.class).warn("The timeline ends here: {}", e.getMessage());
    }
  }

  @Override
  public synchronized void close() {
    attempt(
        () -> {
          out.write("\n]\n");
          out.close();
        });
    broken = true;
  }
}
