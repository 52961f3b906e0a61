package dev.millrace.cluster;

import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.ops.StandardOps;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/** A task in a process of its own, to be killed or stopped. */
final class ServerProcess implements AutoCloseable {
  private static final String READY = "ready";

  private final Process process;

  private ServerProcess(Process process) {
    this.process = process;
  }

  /** The child: the comma-separated addresses of ps and workers, job, task. */
  public static void main(String[] args) throws InterruptedException {
    ClusterSpec cluster = ClusterSpec.ofHosts(Map.of("ps", args[0], "worker", args[1]));
    Server server =
        Server.start(
            cluster, new TaskId(args[2], Integer.parseInt(args[3])), StandardOps.registry());
    System.out.println(READY);
    server.join();
  }

  static ServerProcess start(ClusterSpec cluster, String job) throws Exception {
    return start(cluster, new TaskId(job, 0));
  }

  /** Starts a task, in a virtual machine with these options, and waits until it listens. */
  static ServerProcess start(ClusterSpec cluster, TaskId task, String... options) throws Exception {
    Process p =
        java(
            List.of(options),
            ServerProcess.class,
            String.join(",", cluster.tasks("ps").values()),
            String.join(",", cluster.tasks("worker").values()),
            task.job(),
            Integer.toString(task.index()));
    ServerProcess s = new ServerProcess(p);
    try {
      CompletableFuture.supplyAsync(() -> s.awaitReady(task), Thread::startVirtualThread)
          .get(60, TimeUnit.SECONDS);
    } catch (Exception e) {
      s.close();
      throw e;
    }
    return s;
  }

  /** Runs a client to its end, however it ends, and returns the last line it prints. */
  static String client(Class<?> main, String... arguments) throws Exception {
    Process p = java(List.of(), main, arguments);
    try {
      String said =
          CompletableFuture.supplyAsync(() -> lastLine(p), Thread::startVirtualThread)
              .get(120, TimeUnit.SECONDS);
      p.waitFor(10, TimeUnit.SECONDS);
      return said;
    } finally {
      p.destroyForcibly();
    }
  }

  private static String lastLine(Process p) {
    try {
      return new String(p.getInputStream().readAllBytes(), StandardCharsets.UTF_8)
          .lines()
          .reduce("", (a, b) -> b);
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  private static Process java(List<String> options, Class<?> main, String... arguments)
      throws Exception {
    List<String> command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--add-modules",
                "jdk.incubator.vector",
                "--enable-native-access=ALL-UNNAMED",
                "--sun-misc-unsafe-memory-access=allow",
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC"));
    command.addAll(options);
    command.addAll(List.of("-cp", classPath(), main.getName()));
    command.addAll(List.of(arguments));
    return new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD).start();
  }

  long pid() {
    return process.pid();
  }

  private boolean awaitReady(TaskId task) {
    BufferedReader out =
        new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
    try {
      for (String line = out.readLine(); line != null; line = out.readLine()) {
        if (line.equals(READY)) {
          return true;
        }
      }
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
    throw new IllegalStateException(task + " ended before it listened");
  }

  /** That of the tests, whoever runs them. */
  private static String classPath() throws Exception {
    if (!(ServerProcess.class.getClassLoader() instanceof URLClassLoader loader)) {
      return System.getProperty("java.class.path");
    }
    return Arrays.stream(loader.getURLs())
        .map(URL::getPath)
        .collect(Collectors.joining(System.getProperty("path.separator")));
  }

  private void signal(String name) throws Exception {
    List<String> command = List.of("kill", "-" + name, Long.toString(process.pid()));
    if (new ProcessBuilder(command).start().waitFor() != 0) {
      throw new IllegalStateException(command + " failed");
    }
  }

  /** As {@code kill -9} does. */
  void kill() throws InterruptedException {
    process.destroyForcibly();
    process.waitFor(10, TimeUnit.SECONDS);
  }

  /** As {@code kill -STOP} does: it is there and does nothing. */
  void stop() throws Exception {
    signal("STOP");
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
    while (!hasStopped()) {
      if (System.nanoTime() > deadline) {
        throw new IllegalStateException(process + " has not stopped");
      }
      Thread.onSpinWait();
    }
  }

  /** Whether all its threads have: each does when it next looks, and until then works on. */
  private boolean hasStopped() throws IOException {
    Path tasks = Path.of("/proc", Long.toString(process.pid()), "task");
    try (DirectoryStream<Path> threads = Files.newDirectoryStream(tasks)) {
      for (Path t : threads) {
        String stat = Files.readString(t.resolve("stat"));
        if (stat.charAt(stat.lastIndexOf(')') + 2) != 'T') {
          return false;
        }
      }
    }
    return true;
  }

  /** As {@code kill -CONT} does. */
  void resume() throws Exception {
    signal("CONT");
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }
}
