package dev.millrace.interop;

import dev.millrace.proto.ConfigProto;
import dev.millrace.proto.ServerDef;
import java.io.IOException;
import java.util.List;

/** A real TensorFlow C++ server in a process of its own. */
public final class TensorFlowServer extends ServerProcess {
  private TensorFlowServer(ServerDef definition) {
    super("tensorflow", List.of(), Main.class, definition);
  }

  /** Starts a task of the cluster. It listens when this returns. */
  public static TensorFlowServer start(LoopbackCluster cluster, String job, int task) {
    return start(cluster.server(job, task, ConfigProto.getDefaultInstance()));
  }

  /** Starts a server. It listens when this returns. */
  public static TensorFlowServer start(ServerDef definition) {
    return new TensorFlowServer(definition);
  }

  /**
   * Starts a server in this very process and returns its target. TensorFlow cannot end one but with
   * the process.
   */
  public static String startHere(ServerDef definition) {
    return NativeServer.start(definition).target();
  }

  /** The program of the server process. */
  static final class Main {
    private Main() {}

    static void main(String[] args) throws IOException {
      serve(startHere(definition(args)));
      Runtime.getRuntime().halt(0);
    }
  }
}
