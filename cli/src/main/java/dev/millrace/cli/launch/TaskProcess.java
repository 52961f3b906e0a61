package dev.millrace.cli.launch;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.ProcessEnvironment;
import dev.millrace.base.Timers;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * One start of a task: a shell with {@link TaskScript}, here or on another host by ssh. Whatever
 * happens to the launcher or the connection, the script ends the command.
 *
 * <p>Threading: any thread.
 */
final class TaskProcess {
  private final Process process;

  /** The link to the script: it ends the command when this is closed. */
  private final OutputStream link;

  /** Whether {@link #stop} was called, and when the script then sends SIGKILL. Guarded by this. */
  private boolean stopped;

  private long killNanos;

  /** Whether the process ended after SIGKILL was due. */
  private volatile boolean overdue;

  private TaskProcess(Process process) {
    this.process = process;
    this.link = process.getOutputStream();
    process.onExit().thenRun(this::noteEnd);
  }

  private synchronized void noteEnd() {
    overdue = stopped && Timers.system().now() >= killNanos;
  }

  /** Fails if a variable of the task cannot be passed on to its host. */
  static void check(JobTask task) {
    if (!HostAddresses.isHere(task.host())) {
      environment(task);
    }
  }

  /** Starts a task, on another host through {@code ssh}, in the folder of the same name. */
  static TaskProcess start(JobTask task, List<String> ssh, TaskOutput output) {
    boolean here = HostAddresses.isHere(task.host());
    String script = TaskScript.of(task.command());
    List<String> line = new ArrayList<>();
    if (here) {
      line.addAll(List.of("sh", "-c", script));
    } else {
      line.addAll(ssh);
      line.add(task.host());
      line.add("sh -c " + TaskScript.quote(script));
    }
    ProcessBuilder builder = new ProcessBuilder(line);
    String given = TaskScript.FOLDER + "=" + ProcessEnvironment.workingFolder() + "\n";
    if (here) {
      builder.environment().putAll(task.environment());
    } else {
      given += environment(task);
    }
    TaskProcess started = new TaskProcess(started(builder));
    output.follow(started.process);
    started.send(given + "\n");
    return started;
  }

  /** The variables of a task on another host, a line each. */
  private static String environment(JobTask task) {
    StringBuilder lines = new StringBuilder();
    task.environment()
        .forEach(
            (name, value) -> {
              if (value.contains("\n")) {
                throw MillraceException.invalid(
                    "Environment variable %s has several lines and cannot be passed on to %s.",
                    name, task.host());
              }
              lines.append(name).append('=').append(value).append('\n');
            });
    return lines.toString();
  }

  private static Process started(ProcessBuilder b) {
    try {
      return b.start();
    } catch (IOException e) {
      // Java's words, with the system's in parentheses at their end.
      String why = String.valueOf(e.getMessage()).replaceFirst("(?s).*\\(([^()]*)\\)\\s*$", "$1");
      throw new MillraceException(
          Code.NOT_FOUND, "Cannot start '" + b.command().getFirst() + "': " + why + ".", e);
    }
  }

  private void send(String text) {
    try {
      link.write(text.getBytes(StandardCharsets.UTF_8));
      link.flush();
    } catch (IOException e) {
      // The script has ended already; its exit code and its last line say why.
    }
  }

  CompletableFuture<Process> onExit() {
    return process.onExit();
  }

  /** Whether the script still runs. */
  boolean isAlive() {
    return process.isAlive();
  }

  /** The exit code of a process that has ended; 128 and the signal's number if one ended it. */
  int exitCode() {
    return process.exitValue();
  }

  /** Whether it may have ended by the SIGKILL that follows {@link #stop}. */
  boolean isOverdue() {
    return overdue;
  }

  /** Sends the command SIGTERM, and SIGKILL if it has not ended after {@code grace}. */
  synchronized void stop(Duration grace) {
    if (!stopped) {
      stopped = true;
      killNanos = Timers.system().now() + grace.toNanos();
      send(grace.toSeconds() + "\n");
      try {
        link.close();
      } catch (IOException e) {
        // The script has ended.
      }
    }
  }

  /** Ends the script at once, after {@link #stop} has had no effect. */
  void kill() {
    process.destroyForcibly();
  }
}
