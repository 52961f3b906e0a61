package dev.millrace.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.proto.ConfigProto;
import dev.millrace.runtime.Session;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** A session waits for all tasks, and says how far it got with the one that is missing. */
class WaitingForTasksTest {
  private static final TaskId WORKER = new TaskId("worker", 0);

  private static ClusterSpec cluster(String ps, String worker) {
    return ClusterSpec.of(Map.of("ps", List.of(ps), "worker", List.of(worker)));
  }

  /**
   * Opens a session at the worker, which fails and says {@code text}. A busy machine may need more
   * time to get that far.
   */
  private static String assertSays(String text, ClusterSpec cluster) {
    return assertSays(text, cluster, 1000);
  }

  private static String assertSays(String text, ClusterSpec cluster, int millis) {
    String message = "";
    for (int patience = millis; patience < 20_000 && !message.contains(text); patience *= 4) {
      message = failure(cluster, patience);
    }
    assertTrue(message.contains(text), message);
    return message;
  }

  private static String failure(ClusterSpec cluster, int patienceMillis) {
    ConfigProto impatient =
        ConfigProto.newBuilder().setOperationTimeoutInMs(patienceMillis).build();
    Graph g = StandardOps.newGraph();
    Output one = Const.of(Scope.of(g), 1f);
    try (Server worker = Server.start(cluster, WORKER, StandardOps.registry());
        Session s = new ClusterSession(g, worker.target(), impatient)) {
      MillraceException e = assertThrows(MillraceException.class, () -> s.fetch(one));
      assertEquals(Code.DEADLINE_EXCEEDED, e.code(), e::getMessage);
      assertTrue(e.getMessage().contains("/job:ps/replica:0/task:0"), e::getMessage);
      assertTrue(e.getMessage().contains(cluster.address(new TaskId("ps", 0))), e::getMessage);
      return e.getMessage();
    }
  }

  @Test
  @Execution(ExecutionMode.CONCURRENT)
  void aNameThatDoesNotResolveIsSaid() {
    List<String> a = FreePorts.addresses(1);
    assertSays("name not resolved", cluster("no-such-host.invalid:2222", a.get(0)));
  }

  @Test
  @Execution(ExecutionMode.CONCURRENT)
  void aPortNobodyListensOnIsSaid() {
    List<String> a = FreePorts.addresses(2);
    assertSays("refused", cluster(a.get(0), a.get(1)));
  }

  @Test
  @Execution(ExecutionMode.CONCURRENT)
  void aClientElsewhereIsToldTheSame() {
    List<String> a = FreePorts.addresses(2);
    ConfigProto impatient = ConfigProto.newBuilder().setOperationTimeoutInMs(1000).build();
    Graph g = StandardOps.newGraph();
    Output one = Const.of(Scope.of(g), 1f);
    try (Server worker = Server.start(cluster(a.get(0), a.get(1)), WORKER, StandardOps.registry());
        Session s =
            new ClusterSession(g, worker.target().replace("localhost", "127.0.0.1"), impatient)) {
      MillraceException e = assertThrows(MillraceException.class, () -> s.fetch(one));
      assertTrue(e.getMessage().startsWith("CreateSession waited "), e::getMessage);
    }
  }

  @Test
  @Execution(ExecutionMode.CONCURRENT)
  void aListenerThatDoesNotAnswerIsSaid() throws IOException {
    try (ServerSocket mute = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
      assertSays(
          "no answer within",
          cluster("localhost:" + mute.getLocalPort(), FreePorts.addresses(1).get(0)),
          4500);
    }
  }

  @Test
  @Execution(ExecutionMode.CONCURRENT)
  void aListenerOfAnotherKindIsSaid() throws IOException {
    try (ServerSocket web = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
      Thread.ofVirtual().start(() -> answerLikeTheWeb(web));
      assertSays(
          "not speaking the protocol",
          cluster("localhost:" + web.getLocalPort(), FreePorts.addresses(1).get(0)));
    }
  }

  private static void answerLikeTheWeb(ServerSocket web) {
    while (!web.isClosed()) {
      try (Socket s = web.accept()) {
        s.getInputStream().readNBytes(24);
        s.getOutputStream()
            .write("HTTP/1.1 400 Bad Request\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
      } catch (IOException e) {
        // The next one, or the end of the test.
      }
    }
  }

  @Test
  @Execution(ExecutionMode.CONCURRENT)
  void aProcessThatIsAnotherTaskIsSaid() {
    List<String> a = FreePorts.addresses(2);
    ClusterSpec wrong =
        ClusterSpec.of(Map.of("chief", List.of(a.get(0)), "worker", List.of(a.get(1))));
    try (Server chief = Server.start(wrong, new TaskId("chief", 0), StandardOps.registry())) {
      String message = assertSays("wrong task", cluster(a.get(0), a.get(1)));
      assertTrue(message.contains(chief.task().name()), message);
    }
  }

  @Test
  @Execution(ExecutionMode.CONCURRENT)
  void specsThatContradictEachOtherAreSaid() {
    List<String> a = FreePorts.addresses(3);
    try (Server ps =
        Server.start(cluster(a.get(0), a.get(2)), new TaskId("ps", 0), StandardOps.registry())) {
      String message = assertSays("cluster specs differ", cluster(a.get(0), a.get(1)));
      String how = "worker/0 is at " + a.get(1) + " here and at " + a.get(2);
      assertTrue(message.contains(how), message);
      assertEquals(0, ps.worker().sessionCount());
    }
  }

  @Test
  @Execution(ExecutionMode.CONCURRENT)
  void aTaskThatComesLateIsWaitedFor() throws Exception {
    List<String> a = FreePorts.addresses(2);
    ClusterSpec cluster = cluster(a.get(0), a.get(1));
    Graph g = StandardOps.newGraph();
    Output one = Const.of(Scope.of(g), 1f);
    try (Server worker = Server.start(cluster, WORKER, StandardOps.registry());
        Session s = new ClusterSession(g, worker.target())) {
      CompletableFuture<Float> value =
          CompletableFuture.supplyAsync(
              () -> s.fetch(one).floatValue(), run -> Thread.ofPlatform().daemon().start(run));
      assertThrows(
          java.util.concurrent.TimeoutException.class, () -> value.get(300, TimeUnit.MILLISECONDS));
      try (Server ps = Server.start(cluster, new TaskId("ps", 0), StandardOps.registry())) {
        assertEquals(1f, value.get(20, TimeUnit.SECONDS));
        assertEquals(1, ps.worker().sessionCount());
      }
    }
  }
}
