package dev.millrace.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.MillraceException;
import dev.millrace.base.config.ClusterSettings;
import dev.millrace.base.config.Config;
import dev.millrace.base.context.Context;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.net.Credential;
import dev.millrace.net.JobAuthority;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Clusters whose tasks admit their own job only: over TLS, as between hosts. */
class ClosedClusterTest {
  private static final JobAuthority JOB = JobAuthority.create(Duration.ofDays(1));

  private final List<AutoCloseable> open = new ArrayList<>();

  @AfterEach
  void closeAll() throws Exception {
    for (AutoCloseable c : open.reversed()) {
      c.close();
    }
  }

  /** Without the shortcut within the host, all connections are TCP, as between hosts. */
  private Context context(String name, Credential credential) {
    Config c =
        Config.defaults()
            .with(ClusterSettings.LINK_WITHIN_HOST, false)
            .with(ClusterSettings.START_TIMEOUT, Duration.ofSeconds(20));
    if (credential != null) {
      c = c.with(ClusterSettings.CREDENTIALS, credential.toText());
    }
    Context context = Context.of(name, c);
    open.add(context);
    return context;
  }

  private ClusterSpec spec() {
    HeldPorts ports = HeldPorts.take(2);
    open.add(ports);
    return ClusterSpec.of(
        Map.of(
            "ps", List.of(ports.addresses().get(0)), "worker", List.of(ports.addresses().get(1))));
  }

  private Server start(ClusterSpec spec, TaskId task, Credential credential) {
    Server s =
        Server.start(spec, task, StandardOps.registry(), context(task.toString(), credential));
    open.add(s);
    return s;
  }

  /** 3 + 3 on the ps, and 4 more on the worker. */
  private static float sum(ClusterSession session, Graph graph, Output sum) {
    try (Tensor x = Tensor.scalar(3f);
        Tensor t =
            session.run(Map.of(graph.node("x").output(0), x), List.of(sum), List.of()).getFirst()) {
      return t.toFloats()[0];
    }
  }

  private static Output sum(Graph graph) {
    Scope ps = Scope.of(graph).withDevice("/job:ps/task:0");
    Scope worker = Scope.of(graph).withDevice("/job:worker/task:0");
    Output x = Placeholder.of(worker.withName("x"), DType.FLOAT, Shape.of());
    Output twice = Arithmetic.add(ps, x, x);
    return Arithmetic.add(worker, twice, Const.of(worker, 4f));
  }

  // README claim: open-names
  @Test
  void tasksAndClientsOfTheJobComputeTogether() {
    ClusterSpec spec = spec();
    start(spec, new TaskId("ps", 0), JOB.issue("ps/0"));
    Server worker = start(spec, new TaskId("worker", 0), JOB.issue("worker/0"));
    Graph graph = new Graph(StandardOps.registry());
    Output sum = sum(graph);
    try (ClusterSession session = worker.session(graph)) {
      assertEquals(10f, sum(session, graph, sum));
    }
    context("client", JOB.issue(JobAuthority.CLIENT))
        .run(
            () -> {
              try (ClusterSession session = new ClusterSession(graph, worker.target())) {
                assertEquals(10f, sum(session, graph, sum));
              }
            });
    assertTrue(
        worker.links().stream().allMatch(l -> l.connection().isEncrypted()), "all are encrypted");
    assertFalse(worker.links().isEmpty());
  }

  private void refused(Context stranger, String target, String... words) {
    Graph graph = new Graph(StandardOps.registry());
    Output sum = sum(graph);
    String said =
        assertThrows(
                MillraceException.class,
                () ->
                    stranger.run(
                        () -> {
                          try (ClusterSession s = new ClusterSession(graph, target)) {
                            sum(s, graph, sum);
                          }
                        }))
            .getMessage();
    for (String w : words) {
      assertTrue(said.contains(w), said);
    }
  }

  @Test
  void clientsOfOthersAreRefused() {
    ClusterSpec spec = spec();
    Server ps = start(spec, new TaskId("ps", 0), JOB.issue("ps/0"));
    refused(context("nobody", null), ps.target(), "--credentials");
    refused(
        context("other", JobAuthority.create(Duration.ofDays(1)).issue("client")),
        ps.target(),
        "credential");
    refused(
        context("late", JOB.issue("client", Duration.ofMinutes(-10))), ps.target(), "credential");
    assertEquals(0, ps.held());
  }

  /** A process of the job that says it is another task gets none of that task's tensors. */
  // README claim: open-names
  @Test
  void noTaskCanBeClaimedByAnother() {
    ClusterSpec spec = spec();
    Server ps = start(spec, new TaskId("ps", 0), JOB.issue("ps/0"));
    // Says it is worker/0, with the credential of worker/1.
    Server liar = start(spec, new TaskId("worker", 0), JOB.issue("worker/1"));
    Graph graph = new Graph(StandardOps.registry());
    Output sum = sum(graph);
    String said =
        assertThrows(
                MillraceException.class,
                () -> {
                  try (ClusterSession session = liar.session(graph)) {
                    sum(session, graph, sum);
                  }
                })
            .getMessage();
    assertTrue(said.contains("The credential is for"), said);
    assertEquals(0, ps.held());
  }
}
