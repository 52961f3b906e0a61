package dev.millrace.cli.launch;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.ProcessEnvironment;
import dev.millrace.base.Timers;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;

/**
 * The process of one rank, here or on another host by ssh. Its output is passed on line by line
 * with the rank in front.
 *
 * <p>On another host a small shell script reads the environment from its standard input, so that no
 * secret shows in a list of processes, and ends the command when that input ends: whatever happens
 * to the launcher or the connection, no rank is left behind.
 *
 * <p>Threading: any thread.
 */
final class LaunchedRank {
  private static final Duration READ_REST = Duration.ofSeconds(2);
  private static final int COLOURS = 6;
  private static final String REMOTE_SCRIPT =
      """
      exec 3<&0
      while IFS= read -r line && [ -n "$line" ]; do export "$line"; done
      cd "$MILLRACE_LAUNCH_FOLDER" || exit 126
      %s </dev/null 3<&- &
      command=$!
      (cat <&3; kill -TERM $command; sleep 5; kill -KILL $command) >/dev/null 2>&1 &
      watch=$!
      exec 3<&-
      wait $command
      code=$?
      kill $watch 2>/dev/null
      exit $code
      """;

  private final HostSlots.Slot slot;
  private final Process process;
  private final List<Thread> readers = new ArrayList<>();

  /** The last line of standard error that is not blank, and of standard output. */
  private volatile String lastError = "";

  private volatile String lastOutput = "";

  private LaunchedRank(HostSlots.Slot slot, Process process) {
    this.slot = slot;
    this.process = process;
  }

  /** Starts a command on this host. */
  static LaunchedRank local(
      HostSlots.Slot slot, List<String> command, Map<String, String> environment) {
    ProcessBuilder b = new ProcessBuilder(command);
    b.environment().putAll(environment);
    b.redirectInput(ProcessBuilder.Redirect.from(new File("/dev/null")));
    return new LaunchedRank(slot, started(b));
  }

  /** Starts a command on the slot's host through {@code ssh}, in the folder of the same name. */
  static LaunchedRank remote(
      HostSlots.Slot slot,
      List<String> ssh,
      List<String> command,
      Map<String, String> environment) {
    String quoted = command.stream().map(LaunchedRank::quote).collect(Collectors.joining(" "));
    List<String> line = new ArrayList<>(ssh);
    line.add(slot.host());
    line.add("sh -c " + quote(REMOTE_SCRIPT.formatted(quoted)));
    StringBuilder lines = new StringBuilder();
    lines.append("MILLRACE_LAUNCH_FOLDER=").append(ProcessEnvironment.workingFolder()).append('\n');
    environment.forEach(
        (name, value) -> {
          if (value.contains("\n")) {
            throw new MillraceException(
                Code.INVALID_ARGUMENT,
                "Environment variable " + name + " has several lines and cannot be passed on.");
          }
          lines.append(name).append('=').append(value).append('\n');
        });
    Process p = started(new ProcessBuilder(line));
    // Kept open: its end is the sign for the other side to stop.
    OutputStream in = p.getOutputStream();
    try {
      in.write(lines.append('\n').toString().getBytes(StandardCharsets.UTF_8));
      in.flush();
    } catch (IOException e) {
      // It has ended already; its exit code and its last line say why.
    }
    return new LaunchedRank(slot, p);
  }

  private static Process started(ProcessBuilder b) {
    try {
      return b.start();
    } catch (IOException e) {
      // Java's words, with the system's in parentheses at their end.
      String why = e.getMessage().replaceFirst("(?s).*\\(([^()]*)\\)\\s*$", "$1");
      throw new MillraceException(
          Code.NOT_FOUND, "Cannot start '" + b.command().getFirst() + "': " + why + ".", e);
    }
  }

  private static String quote(String word) {
    return "'" + word.replace("'", "'\\''") + "'";
  }

  /** Passes the output on, in colour if asked. */
  void show(PrintWriter out, PrintWriter err, boolean colour) {
    String prefix = "[" + slot.rank() + "] ";
    if (colour) {
      prefix = "\033[3" + (1 + slot.rank() % COLOURS) + "m" + prefix + "\033[0m";
    }
    String p = prefix;
    readers.add(
        Thread.ofVirtual()
            .start(() -> read(process.getInputStream(), p, out, l -> lastOutput = l)));
    readers.add(
        Thread.ofVirtual().start(() -> read(process.getErrorStream(), p, err, l -> lastError = l)));
  }

  private static void read(
      InputStream from, String prefix, PrintWriter to, java.util.function.Consumer<String> last) {
    try (BufferedReader in =
        new BufferedReader(new InputStreamReader(from, StandardCharsets.UTF_8))) {
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        if (!line.isBlank()) {
          last.accept(line.strip());
        }
        synchronized (to) {
          to.println(prefix + line);
          to.flush();
        }
      }
    } catch (IOException e) {
      // The process has ended; its exit code tells the rest.
    }
  }

  HostSlots.Slot slot() {
    return slot;
  }

  CompletableFuture<Process> onExit() {
    return process.onExit();
  }

  /** The exit code of a process that has ended. */
  int exitCode() {
    return process.exitValue();
  }

  boolean isAlive() {
    return process.isAlive();
  }

  /** The last thing it said: on standard error, else on standard output. */
  String lastLine() throws InterruptedException {
    awaitOutput();
    return lastError.isEmpty() ? lastOutput : lastError;
  }

  /** Waits a moment until what it said has been passed on. */
  void awaitOutput() throws InterruptedException {
    for (Thread t : readers) {
      Timers.system().join(t, READ_REST);
    }
  }

  /** Asks it, and what it started, to end. */
  void stop() {
    process.descendants().forEach(ProcessHandle::destroy);
    process.destroy();
  }

  /** Ends it, and what it started, at once. */
  void kill() {
    process.descendants().forEach(ProcessHandle::destroyForcibly);
    process.destroyForcibly();
  }
}
