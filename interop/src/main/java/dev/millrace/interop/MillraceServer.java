package dev.millrace.interop;

import dev.millrace.cluster.Server;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.ops.StandardOps;
import dev.millrace.proto.ConfigProto;
import dev.millrace.proto.ServerDef;
import java.io.IOException;
import java.util.List;

/** A Millrace server in a process of its own. */
public final class MillraceServer extends ServerProcess {
  private MillraceServer(ServerDef definition, List<String> options) {
    super("millrace", options, Main.class, definition);
  }

  /** Starts a task of the cluster. It listens when this returns. */
  public static MillraceServer start(LoopbackCluster cluster, String job, int task) {
    return start(cluster, job, task, List.of());
  }

  /** The same in a virtual machine with these options. */
  public static MillraceServer start(
      LoopbackCluster cluster, String job, int task, List<String> options) {
    return new MillraceServer(cluster.server(job, task, ConfigProto.getDefaultInstance()), options);
  }

  /** Starts a server in this very process. */
  public static Server startHere(ServerDef definition) {
    return Server.start(
        ClusterSpec.decode(definition.getCluster()),
        new TaskId(definition.getJobName(), definition.getTaskIndex()),
        StandardOps.registry());
  }

  /** The program of the server process. */
  static final class Main {
    private Main() {}

    static void main(String[] args) throws IOException {
      try (Server server = startHere(definition(args))) {
        serve(server.target());
      }
      Runtime.getRuntime().halt(0);
    }
  }
}
