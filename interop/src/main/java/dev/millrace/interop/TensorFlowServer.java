package dev.millrace.interop;

import dev.millrace.proto.ConfigProto;
import dev.millrace.proto.ServerDef;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Base64;
import java.util.List;

/**
 * A real TensorFlow C++ server, one task of a cluster, in a process of its own.
 *
 * <p>Threading: any thread may kill it.
 */
public final class TensorFlowServer implements AutoCloseable {
  /** Loading the library takes a second on an idle machine. */
  private static final Duration START = Duration.ofSeconds(60);

  private final ChildProcess process;
  private final String target;

  private TensorFlowServer(ChildProcess process, String target) {
    this.process = process;
    this.target = target;
  }

  /** Starts a task of the cluster. It listens when this returns. */
  public static TensorFlowServer start(LoopbackCluster cluster, String job, int task) {
    return start(cluster.server(job, task, ConfigProto.getDefaultInstance()));
  }

  /** Starts a server. It listens when this returns. */
  public static TensorFlowServer start(ServerDef definition) {
    String name = definition.getJobName() + "/" + definition.getTaskIndex();
    ChildProcess process =
        ChildProcess.start(
            "tensorflow " + name,
            Main.class,
            List.of(Base64.getEncoder().encodeToString(definition.toByteArray())));
    try {
      return new TensorFlowServer(process, process.receive(START));
    } catch (RuntimeException | Error e) {
      process.close();
      throw e;
    }
  }

  /**
   * Starts a server in this very process and returns its target. TensorFlow cannot end one but with
   * the process.
   */
  public static String startHere(ServerDef definition) {
    return NativeServer.start(definition).target();
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
      ChildProcess.reply(System.out, startHere(definition));
      BufferedReader in =
          new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
      while (in.readLine() != null) {
        // Nothing is asked of it.
      }
      Runtime.getRuntime().halt(0);
    }
  }
}
