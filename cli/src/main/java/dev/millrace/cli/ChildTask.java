package dev.millrace.cli;

import dev.millrace.base.ProcessEnvironment;
import dev.millrace.base.Timers;
import dev.millrace.cli.text.ErrorPrinter;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * A {@code millrace} command in a process of its own. What it says on standard error is read as it
 * comes and the last of it kept.
 *
 * <p>Threading: any thread.
 */
final class ChildTask {
  private static final int KEPT_LINES = 40;
  private static final Duration READ_REST = Duration.ofSeconds(2);

  private final String name;
  private final Process process;
  private final Thread reader;

  /** The last lines of standard error. Guarded by itself. */
  private final Deque<String> lines = new ArrayDeque<>();

  private ChildTask(String name, Process process, Consumer<String> listener) {
    this.name = name;
    this.process = process;
    reader = Thread.ofVirtual().start(() -> read(listener));
  }

  /**
   * Starts {@code millrace args} with the Java of this process.
   *
   * @param shown whether its standard output is this process' own
   * @param listener gets every line of its standard error
   */
  static ChildTask start(
      String name,
      List<String> args,
      Map<String, String> environment,
      boolean shown,
      Consumer<String> listener)
      throws IOException {
    List<String> command = new ArrayList<>();
    command.add(ProcessEnvironment.java().toString());
    command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
    command.addAll(List.of("-cp", ProcessEnvironment.classPath()));
    command.add(Millrace.class.getName());
    command.addAll(args);
    ProcessBuilder b =
        new ProcessBuilder(command)
            .redirectOutput(
                shown ? ProcessBuilder.Redirect.INHERIT : ProcessBuilder.Redirect.DISCARD);
    b.environment().putAll(environment);
    Process p = b.start();
    p.getOutputStream().close();
    return new ChildTask(name, p, listener);
  }

  private void read(Consumer<String> listener) {
    try (BufferedReader in =
        new BufferedReader(
            new InputStreamReader(process.getErrorStream(), StandardCharsets.UTF_8))) {
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        synchronized (lines) {
          lines.add(line);
          if (lines.size() > KEPT_LINES) {
            lines.poll();
          }
        }
        listener.accept(line);
      }
    } catch (IOException e) {
      // The process has ended; its exit code tells the rest.
    }
  }

  String name() {
    return name;
  }

  Process process() {
    return process;
  }

  /** The last lines of a process that has ended. */
  List<String> lastLines() throws InterruptedException {
    Timers.system().join(reader, READ_REST);
    synchronized (lines) {
      return List.copyOf(lines);
    }
  }

  /** The sentence with which the command complained, if it did. */
  Optional<String> complaint() throws InterruptedException {
    return lastLines().reversed().stream()
        .filter(l -> l.startsWith(ErrorPrinter.PREFIX))
        .map(l -> l.substring(ErrorPrinter.PREFIX.length()))
        .findFirst();
  }
}
