package dev.millrace.interop;

import dev.millrace.proto.ServerDef;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Base64;
import java.util.List;

/**
 * A server, one task of a cluster, in a process of its own.
 *
 * <p>Threading: any thread may kill it.
 */
public abstract sealed class ServerProcess implements AutoCloseable
    permits MillraceServer, TensorFlowServer {
  /** Loading TensorFlow's library takes a second on an idle machine. */
  private static final Duration START = Duration.ofSeconds(60);

  private final ChildProcess process;
  private final String target;

  /**
   * Starts {@code main}, which {@link #serve serves}, in a virtual machine with these options. It
   * listens when this returns.
   */
  ServerProcess(String kind, List<String> options, Class<?> main, ServerDef definition) {
    String name = kind + " " + definition.getJobName() + "/" + definition.getTaskIndex();
    String encoded = Base64.getEncoder().encodeToString(definition.toByteArray());
    process = ChildProcess.start(name, options, main, List.of(encoded));
    try {
      target = process.receive(START);
    } catch (RuntimeException | Error e) {
      process.close();
      throw e;
    }
  }

  /** What a server process was started for. */
  static ServerDef definition(String[] args) throws IOException {
    return ServerDef.parseFrom(Base64.getDecoder().decode(args[0]));
  }

  /** In the server process: tells the target, and returns when nobody needs the server any more. */
  static void serve(String target) throws IOException {
    ChildProcess.reply(System.out, target);
    while (System.in.read() >= 0) {
      // Nothing is asked of it.
    }
  }

  /** The target of a session at this server, {@code grpc://host:port}. */
  public final String target() {
    return target;
  }

  public final long pid() {
    return process.pid();
  }

  /** What it prints. */
  public final Path log() {
    return process.log();
  }

  /** Ends it as a crash would, without a word to its peers. */
  public final void kill() {
    process.kill();
  }

  @Override
  public final void close() {
    process.close();
  }
}
