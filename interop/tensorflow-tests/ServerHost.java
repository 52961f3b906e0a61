import dev.millrace.cluster.Server;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.graph.Op;
import dev.millrace.ops.StandardOps;
import dev.millrace.proto.ClusterDef;
import dev.millrace.proto.ConfigProto;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;

/**
 * Millrace servers in one process, for {@code build/tensorflow-tests}. Each line of standard input
 * {@code SESSIONS JOB TASK CLUSTER}, with the sessions' ConfigProto and a ClusterDef in base 64,
 * starts a server and is answered by {@code ok TARGET} or {@code error MESSAGE}. The line {@code
 * ops} is answered by the names of all ops in one line. The process ends with its input.
 *
 * <p>Threading: one thread reads; the servers have their own.
 */
public final class ServerHost {
  private final List<Server> servers = new ArrayList<>();

  public static void main(String[] args) throws IOException {
    ServerHost host = new ServerHost();
    BufferedReader in =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      System.out.println(line.equals("ops") ? ops() : host.start(line.trim().split(" ")));
      System.out.flush();
    }
    System.exit(0);
  }

  private static String ops() {
    return String.join(" ", StandardOps.registry().all().stream().map(Op::name).sorted().toList());
  }

  private String start(String[] words) {
    try {
      ClusterSpec cluster =
          ClusterSpec.decode(ClusterDef.parseFrom(Base64.getDecoder().decode(words[3])));
      TaskId task = new TaskId(words[1], Integer.parseInt(words[2]));
      ConfigProto sessions = ConfigProto.parseFrom(Base64.getDecoder().decode(words[0]));
      Server server = Server.start(cluster, task, StandardOps.registry(), sessions);
      servers.add(server);
      return "ok " + server.target();
    } catch (Exception e) {
      return "error " + String.valueOf(e.getMessage()).replace('\n', ' ');
    }
  }
}
