package dev.millrace.cli;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.cli.text.ErrorPrinter;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * The tasks of a cluster as processes on this machine. Whatever happens, all end with this process:
 * on failure, on Ctrl-C, and when it is closed.
 */
final class LocalCluster implements AutoCloseable {
  /** How long tasks have to end when one of them failed. */
  private static final long STOP_SECONDS = 5;

  /** How long they have to save the model when this process is told to end. */
  private static final long SAVE_SECONDS = 60;

  /** How long tasks have to leave by themselves when the chief is done. */
  private static final long LEAVE_SECONDS = 120;

  private final PrintWriter log;
  private final List<ChildTask> children = new ArrayList<>();
  private final LinkedBlockingQueue<ChildTask> ended = new LinkedBlockingQueue<>();
  private ChildTask chief;
  private final Thread onExit = new Thread(() -> stopAll(SAVE_SECONDS), "millrace-stop-children");

  /**
   * A cluster without tasks yet.
   *
   * @param log gets what the tasks say on standard error, or null
   */
  LocalCluster(PrintWriter log) {
    this.log = log;
    Runtime.getRuntime().addShutdownHook(onExit);
  }

  /**
   * Starts a task.
   *
   * @param shown whether its standard output is this process' own: it is the chief
   */
  void start(String name, List<String> args, Map<String, String> environment, boolean shown)
      throws IOException {
    ChildTask child =
        ChildTask.start(
            name,
            args,
            with(Starter.environment(), environment),
            shown,
            line -> {
              if (log != null) {
                log.println(name + ": " + line);
              }
            });
    synchronized (children) {
      children.add(child);
    }
    chief = shown ? child : chief;
    child.process().onExit().thenAccept(x -> ended.add(child));
  }

  private static Map<String, String> with(Map<String, String> some, Map<String, String> more) {
    Map<String, String> all = new HashMap<>(some);
    all.putAll(more);
    return all;
  }

  /**
   * Waits until all tasks have ended; the first that failed ends the others and is reported. Once
   * the chief is done the job is, and those that do not leave are named. If one of them was told to
   * stop, all of them leave by themselves.
   */
  void await() throws InterruptedException {
    ChildTask stopped = null;
    for (int left = children.size(); left > 0; left--) {
      boolean done = chief != null && !chief.process().isAlive();
      ChildTask child =
          done
              ? Timers.system().poll(ended, TimeUnit.SECONDS.toNanos(LEAVE_SECONDS))
              : ended.take();
      if (child == null) {
        throw stillThere();
      }
      int code = child.process().exitValue();
      if (code == ErrorPrinter.STOPPED && child.complaint().isPresent()) {
        stopped = child;
      } else if (code != 0) {
        stopAll(STOP_SECONDS);
        throw failure(isHeardByOthers() ? chief : child);
      }
    }
    if (stopped != null) {
      throw failure(stopped);
    }
  }

  private MillraceException stillThere() {
    List<String> names =
        children.stream().filter(c -> c.process().isAlive()).map(ChildTask::name).toList();
    return new MillraceException(
        Code.DEADLINE_EXCEEDED,
        String.format(
            "%s did not leave within %d s after the chief was done, and will be ended. The"
                + " checkpoint is complete; --verbose shows what they say.",
            String.join(", ", names), LEAVE_SECONDS));
  }

  /** Whether the chief has complained, which others may have repeated before it ended. */
  private boolean isHeardByOthers() throws InterruptedException {
    return chief != null && !chief.process().isAlive() && chief.complaint().isPresent();
  }

  private static MillraceException failure(ChildTask child) throws InterruptedException {
    int code = child.process().exitValue();
    String what =
        child
            .complaint()
            .map(c -> child.name() + ": " + c)
            .orElse(
                child.name()
                    + " ended with code "
                    + code
                    + "; its last lines were:\n  "
                    + String.join("\n  ", child.lastLines()));
    return new MillraceException(
        switch (code) {
          case ErrorPrinter.WRONG_USE -> Code.INVALID_ARGUMENT;
          case ErrorPrinter.STOPPED -> Code.CANCELLED;
          default -> Code.ABORTED;
        },
        what);
  }

  private void stopAll(long seconds) {
    List<ChildTask> all;
    synchronized (children) {
      all = List.copyOf(children);
    }
    all.forEach(c -> c.process().destroy());
    long deadline = Timers.system().now() + TimeUnit.SECONDS.toNanos(seconds);
    for (ChildTask c : all) {
      try {
        long left = Math.max(0, deadline - Timers.system().now());
        if (!Timers.system().join(c.process(), left)) {
          c.process().destroyForcibly();
        }
      } catch (InterruptedException e) {
        c.process().destroyForcibly();
        Thread.currentThread().interrupt();
      }
    }
  }

  @Override
  public void close() {
    stopAll(STOP_SECONDS);
    try {
      Runtime.getRuntime().removeShutdownHook(onExit);
    } catch (IllegalStateException e) {
      // Already shutting down: the hook is running or has run.
    }
  }
}
