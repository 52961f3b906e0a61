package dev.millrace.interop;

import dev.millrace.cluster.ClusterSpec;
import dev.millrace.cluster.Server;
import dev.millrace.cluster.TaskId;
import dev.millrace.ops.StandardOps;
import dev.millrace.proto.ConfigProto;
import dev.millrace.proto.ServerDef;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Base64;
import java.util.List;

/**
 * A Millrace server, one task of a cluster, in a process of its own: what {@link TensorFlowServer}
 * is for TensorFlow.
 *
 * <p>Threading: any thread may kill it.
 */
public final class MillraceServer implements AutoCloseable {
  private static final Duration START = Duration.ofSeconds(60);

  private final ChildProcess process;
  private final String target;

  private MillraceServer(ChildProcess process, String target) {
    this.process = process;
    this.target = target;
  }

  /** Starts a task of the cluster. It listens when this returns. */
  public static MillraceServer start(LoopbackCluster cluster, String job, int task) {
    ServerDef definition = cluster.server(job, task, ConfigProto.getDefaultInstance());
    ChildProcess process =
        ChildProcess.start(
            "millrace " + job + "/" + task,
            Main.class,
            List.of(Base64.getEncoder().encodeToString(definition.toByteArray())));
    try {
      return new MillraceServer(process, process.receive(START));
    } catch (RuntimeException | Error e) {
      process.close();
      throw e;
    }
  }

  /** Starts a server in this very process. */
  public static Server startHere(ServerDef definition) {
    return Server.start(
        ClusterSpec.decode(definition.getCluster()),
        new TaskId(definition.getJobName(), definition.getTaskIndex()),
        StandardOps.registry());
  }

  /** The target of a session at this server, {@code grpc://host:port}. */
  public String target() {
    return target;
  }

  public long pid() {
    return process.pid();
  }

  /** What it prints. */
  public Path log() {
    return process.log();
  }

  /** Ends it as a crash would, without a word to its peers. */
  public void kill() {
    process.kill();
  }

  @Override
  public void close() {
    process.close();
  }

  /** The program of the server process: serves until its standard input ends. */
  static final class Main {
    private Main() {}

    static void main(String[] args) throws IOException {
      ServerDef definition = ServerDef.parseFrom(Base64.getDecoder().decode(args[0]));
      try (Server server = startHere(definition)) {
        ChildProcess.reply(System.out, server.target());
        while (System.in.read() >= 0) {
          // Nothing is asked of it.
        }
      }
      Runtime.getRuntime().halt(0);
    }
  }
}
