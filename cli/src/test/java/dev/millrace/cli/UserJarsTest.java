package dev.millrace.cli;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.MillraceException;
import dev.millrace.cluster.ClusterSession;
import dev.millrace.cluster.HeldPorts;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.library.OpLibrary;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.Tensor;
import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code millrace --jars} and {@code MILLRACE_JARS} bring ops to a server. */
class UserJarsTest {
  @TempDir private Path folder;

  @BeforeEach
  void writeService() throws IOException {
    Path services = Files.createDirectories(folder.resolve("META-INF/services"));
    Files.writeString(services.resolve(OpLibrary.class.getName()), DoubledOps.class.getName());
  }

  /** Runs the op on a server that was started with these arguments before the command. */
  private float[] doubledBy(Map<String, String> environment, String... first) throws Exception {
    try (HeldPorts ports = HeldPorts.take(1);
        URLClassLoader loader =
            new URLClassLoader(
                new URL[] {folder.toUri().toURL()}, UserJarsTest.class.getClassLoader())) {
      String address = ports.addresses().getFirst();
      List<String> args = new ArrayList<>(List.of(first));
      args.addAll(List.of("server", "--worker_hosts", address));
      args.addAll(List.of("--job_name", "worker", "--task_index", "0"));
      Graph graph = new Graph(StandardOps.registry(loader));
      Scope scope = Scope.of(graph);
      Output x = Const.of(scope, Tensor.vector(1f, 2f));
      Output y = scope.node("Doubled").input(x).add().output();
      try (RunningMillrace server =
          RunningMillrace.start(environment, args.toArray(String[]::new))) {
        server.awaitError("grpc://");
        try (Session session = new ClusterSession(graph, "grpc://" + address)) {
          return session.fetch(y).toFloats();
        }
      }
    }
  }

  @Test
  void serverRunsOpsOfTheJars() throws Exception {
    assertArrayEquals(new float[] {2, 4}, doubledBy(Map.of(), "--jars", folder.toString()));
    assertArrayEquals(new float[] {2, 4}, doubledBy(Map.of("MILLRACE_JARS", folder.toString())));
  }

  @Test
  void serverWithoutTheJarSaysHowToAddIt() {
    var e = assertThrows(MillraceException.class, () -> doubledBy(Map.of()));
    assertTrue(e.getMessage().contains("No op 'Doubled'"), e.getMessage());
    assertTrue(e.getMessage().contains("millrace --jars"), e.getMessage());
  }

  @Test
  void jarThatDoesNotExistIsNamed() throws Exception {
    try (RunningMillrace m = RunningMillrace.start("--jars=missing.jar", "--version")) {
      assertEquals(2, m.awaitExit());
      assertTrue(m.err().contains("'missing.jar', which does not exist"), m.err());
    }
  }
}
