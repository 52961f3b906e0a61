package dev.millrace.cluster;

import dev.millrace.ops.StandardOps;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** A task in a process of its own, to be killed. */
final class ServerProcess implements AutoCloseable {
  private final Process process;

  private ServerProcess(Process process) {
    this.process = process;
  }

  /** The child: {@code ps-address worker-address job}. */
  public static void main(String[] args) throws InterruptedException {
    ClusterSpec cluster =
        ClusterSpec.of(Map.of("ps", List.of(args[0]), "worker", List.of(args[1])));
    Server.start(cluster, new TaskId(args[2], 0), StandardOps.registry()).join();
  }

  static ServerProcess start(ClusterSpec cluster, String job) throws IOException {
    return new ServerProcess(
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--add-modules",
                "jdk.incubator.vector",
                "--enable-native-access=ALL-UNNAMED",
                "--sun-misc-unsafe-memory-access=allow",
                "-cp",
                System.getProperty("java.class.path"),
                ServerProcess.class.getName(),
                cluster.address(new TaskId("ps", 0)),
                cluster.address(new TaskId("worker", 0)),
                job)
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .start());
  }

  /** As {@code kill -9} does. */
  void kill() throws InterruptedException {
    process.destroyForcibly();
    process.waitFor(10, TimeUnit.SECONDS);
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }
}
