package dev.millrace.cli.launch;

import dev.millrace.base.Timers;
import dev.millrace.cli.text.ErrorPrinter;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.io.PushbackInputStream;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/**
 * What one task prints, over all its starts: shown, logged, and the last of it kept for messages.
 *
 * <p>Threading: any thread; two threads per process read its streams.
 */
final class TaskOutput implements AutoCloseable {
  private static final Duration READ_REST = Duration.ofSeconds(2);
  private static final int KEPT_LINES = 40;

  /** What a JVM says first of the Vector API, and cannot be told not to. */
  private static final byte[] INCUBATOR_WARNING =
      "WARNING: Using incubator modules: jdk.incubator.vector\n".getBytes(StandardCharsets.UTF_8);

  /** Null where the stream is not shown. */
  private final PrintWriter out;

  private final PrintWriter err;

  /** What stands in front of every line; null to show text as it comes. */
  private final String label;

  private final PrintWriter log;

  /** Told of every line. */
  private final java.util.function.Consumer<String> listener;

  /** The readers of the last start. Written by the thread that starts the process. */
  private volatile List<Thread> readers = List.of();

  /** The last lines of standard error that are not blank. Guarded by itself. */
  private final Deque<String> errors = new ArrayDeque<>();

  private volatile String lastOutput = "";

  TaskOutput(
      PrintWriter out,
      PrintWriter err,
      String label,
      PrintWriter log,
      java.util.function.Consumer<String> listener) {
    this.listener = listener;
    this.out = out;
    this.err = err;
    this.label = label;
    this.log = log;
  }

  /** Reads the streams of a process that has just started. */
  void follow(Process process) {
    synchronized (errors) {
      errors.clear();
    }
    lastOutput = "";
    List<Thread> both = new ArrayList<>();
    both.add(Thread.ofVirtual().start(() -> read(process.getInputStream(), out, this::keepOutput)));
    both.add(Thread.ofVirtual().start(() -> read(process.getErrorStream(), err, this::keepError)));
    readers = both;
  }

  private void keepOutput(String line) {
    lastOutput = line;
  }

  private void keepError(String line) {
    synchronized (errors) {
      errors.add(line);
      if (errors.size() > KEPT_LINES) {
        errors.poll();
      }
    }
  }

  private void read(InputStream from, PrintWriter to, java.util.function.Consumer<String> keep) {
    StringBuilder line = new StringBuilder();
    char[] some = new char[4096];
    try (Reader in = new InputStreamReader(withoutIncubatorWarning(from), StandardCharsets.UTF_8)) {
      for (int n = in.read(some); n >= 0; n = in.read(some)) {
        if (to != null && label == null) {
          synchronized (to) {
            to.write(some, 0, n);
            to.flush();
          }
        }
        for (int i = 0; i < n; i++) {
          add(line, some[i], to, keep);
        }
      }
    } catch (IOException e) {
      // The process has ended; its exit code tells the rest.
    }
    if (!line.isEmpty()) {
      end(line, to, keep);
    }
  }

  /** Leaves that warning out if the stream begins with it. */
  private static InputStream withoutIncubatorWarning(InputStream from) throws IOException {
    PushbackInputStream in = new PushbackInputStream(from, INCUBATOR_WARNING.length);
    for (int n = 0; n < INCUBATOR_WARNING.length; n++) {
      int b = in.read();
      if (b != INCUBATOR_WARNING[n]) {
        if (b >= 0) {
          in.unread(b);
        }
        in.unread(INCUBATOR_WARNING, 0, n);
        return in;
      }
    }
    return in;
  }

  /** A line that is written over on a terminal is logged as it looks in the end. */
  private void add(
      StringBuilder line, char c, PrintWriter to, java.util.function.Consumer<String> keep) {
    boolean returned = !line.isEmpty() && line.charAt(line.length() - 1) == '\r';
    if (c == '\n') {
      line.setLength(line.length() - (returned ? 1 : 0));
      end(line, to, keep);
    } else {
      if (returned) {
        line.setLength(0);
      }
      line.append(c);
    }
  }

  private void end(StringBuilder line, PrintWriter to, java.util.function.Consumer<String> keep) {
    String text = line.toString();
    line.setLength(0);
    if (!text.isBlank()) {
      keep.accept(text.strip());
    }
    if (to != null && label != null) {
      synchronized (to) {
        to.println(label + text);
        to.flush();
      }
    }
    note(text);
  }

  /** Adds a line to the log. */
  void note(String line) {
    listener.accept(line);
    if (log != null) {
      log.println(line);
    }
  }

  /** Waits a moment until everything a process printed before it ended has been read. */
  void awaitRest() throws InterruptedException {
    for (Thread t : readers) {
      Timers.system().join(t, READ_REST);
    }
  }

  /**
   * The task's own words about its end: the sentence of a {@code millrace} command, else its last
   * line on standard error, else on standard output; empty if it printed nothing.
   */
  String lastWords() {
    List<String> lines;
    synchronized (errors) {
      lines = List.copyOf(errors);
    }
    return lines.reversed().stream()
        .filter(l -> l.startsWith(ErrorPrinter.PREFIX))
        .map(l -> l.substring(ErrorPrinter.PREFIX.length()))
        .findFirst()
        .or(() -> lines.stream().filter(JobOutcome::isOfJavaLauncher).findFirst())
        .orElse(lines.isEmpty() ? lastOutput : lines.getLast());
  }

  /** Closes the log, after what was printed has been read. */
  @Override
  public void close() {
    try {
      awaitRest();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    if (log != null) {
      log.close();
    }
  }
}
