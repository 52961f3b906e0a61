package dev.millrace.cli;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.cluster.TaskId;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/**
 * The tasks of a cluster as child processes on this machine. The chief's output is shown as it
 * comes; that of the others is kept and shown if they fail. Whatever happens, all end with this
 * process: on failure, on Ctrl-C, and when it is closed.
 */
final class LocalCluster implements AutoCloseable {
  private static final long STOP_SECONDS = 5;
  private static final int KEPT_LINES = 40;

  /** A task's process and the last lines it printed. */
  private static final class Child {
    final TaskId task;
    final Process process;
    final Deque<String> lines = new ArrayDeque<>();
    Thread reader;

    Child(TaskId task, Process process) {
      this.task = task;
      this.process = process;
    }
  }

  private final List<Child> children = new ArrayList<>();
  private final LinkedBlockingQueue<Child> ended = new LinkedBlockingQueue<>();
  private final Thread onExit = new Thread(this::stopAll, "millrace-stop-children");

  private LocalCluster() {}

  /** Starts the tasks of {@code jobs}; {@code flags} are given to each. */
  static LocalCluster start(Map<String, Integer> jobs, List<String> flags) throws IOException {
    LocalCluster c = new LocalCluster();
    Runtime.getRuntime().addShutdownHook(c.onExit);
    // The ports are held open until just before the children start, so no two tasks get one.
    Map<String, List<ServerSocket>> held = new LinkedHashMap<>();
    for (String job : List.of("ps", "worker")) {
      List<ServerSocket> sockets = new ArrayList<>();
      for (int i = 0; i < jobs.get(job); i++) {
        sockets.add(new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1")));
      }
      held.put(job, sockets);
    }
    List<String> hosts = new ArrayList<>();
    for (Map.Entry<String, List<ServerSocket>> e : held.entrySet()) {
      hosts.add("--" + e.getKey() + "_hosts");
      hosts.add(
          e.getValue().stream()
              .map(s -> "127.0.0.1:" + s.getLocalPort())
              .collect(Collectors.joining(",")));
    }
    for (List<ServerSocket> sockets : held.values()) {
      for (ServerSocket s : sockets) {
        s.close();
      }
    }
    for (String job : held.keySet()) {
      for (int i = 0; i < jobs.get(job); i++) {
        c.startTask(new TaskId(job, i), hosts, flags);
      }
    }
    return c;
  }

  private void startTask(TaskId task, List<String> hosts, List<String> flags) throws IOException {
    List<String> command = new ArrayList<>();
    command.add(java.nio.file.Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(java.lang.management.ManagementFactory.getRuntimeMXBean().getInputArguments());
    command.addAll(List.of("-cp", System.getProperty("java.class.path")));
    command.add(Millrace.class.getName());
    command.addAll(List.of("train", "mnist", "--job_name", task.job()));
    command.addAll(List.of("--task_index", Integer.toString(task.index())));
    command.addAll(hosts);
    command.addAll(flags);
    Process p = new ProcessBuilder(command).redirectErrorStream(true).start();
    p.getOutputStream().close();
    Child child = new Child(task, p);
    children.add(child);
    boolean chief = task.equals(new TaskId("worker", 0));
    child.reader = Thread.ofVirtual().start(() -> read(child, chief));
    p.onExit().thenAccept(x -> ended.add(child));
  }

  private static void read(Child child, boolean show) {
    try (BufferedReader in =
        new BufferedReader(
            new InputStreamReader(child.process.getInputStream(), StandardCharsets.UTF_8))) {
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        synchronized (child.lines) {
          child.lines.add(line);
          if (child.lines.size() > KEPT_LINES) {
            child.lines.poll();
          }
        }
        if (show && !line.contains("[main] INFO") && !line.contains(" INFO ")) {
          System.out.println(line);
        }
      }
    } catch (IOException e) {
      // The process has ended; its exit code tells the rest.
    }
  }

  /** Waits until all tasks have ended; the first that failed ends the others and is reported. */
  int await() throws InterruptedException {
    for (int left = children.size(); left > 0; left--) {
      Child c = ended.take();
      int code = c.process.exitValue();
      if (code != 0) {
        c.reader.join(2000);
        stopAll();
        StringBuilder last = new StringBuilder();
        synchronized (c.lines) {
          c.lines.forEach(l -> last.append("\n  ").append(l));
        }
        throw new MillraceException(
            Code.ABORTED, c.task + " ended with code " + code + "; its last lines were:" + last);
      }
    }
    for (Child c : children) {
      c.reader.join(2000);
    }
    return 0;
  }

  private void stopAll() {
    for (Child c : children) {
      c.process.destroy();
    }
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(STOP_SECONDS);
    for (Child c : children) {
      try {
        if (!c.process.waitFor(Math.max(0, deadline - System.nanoTime()), TimeUnit.NANOSECONDS)) {
          c.process.destroyForcibly();
        }
      } catch (InterruptedException e) {
        c.process.destroyForcibly();
        Thread.currentThread().interrupt();
      }
    }
  }

  @Override
  public void close() {
    stopAll();
    try {
      Runtime.getRuntime().removeShutdownHook(onExit);
    } catch (IllegalStateException e) {
      // Already shutting down: the hook is running or has run.
    }
  }
}
