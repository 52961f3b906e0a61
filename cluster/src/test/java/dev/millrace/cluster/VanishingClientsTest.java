package dev.millrace.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.millrace.base.config.ClusterSettings;
import dev.millrace.base.config.Config;
import dev.millrace.base.context.Context;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.testkit.Slow;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Clients that end without a word leave nothing behind in the servers. */
@Slow
class VanishingClientsTest {
  private static final int SESSIONS = 200;

  /** The client: opens many sessions at once, runs steps in them, and is gone. */
  public static void main(String[] args) throws Exception {
    try (var threads = Executors.newFixedThreadPool(16)) {
      List<Future<?>> all = new ArrayList<>();
      for (int i = 0; i < Integer.parseInt(args[1]); i++) {
        all.add(threads.submit(() -> use(args[0])));
      }
      for (Future<?> f : all) {
        f.get(60, TimeUnit.SECONDS);
      }
      System.out.println("done");
      Runtime.getRuntime().halt(1);
    }
  }

  private static void use(String target) {
    Graph g = StandardOps.newGraph();
    Scope s = Scope.of(g);
    Output x = Placeholder.of(s, DType.FLOAT, Shape.of(-1));
    Output there = s.withDevice("/job:ps/task:0").node("Neg").input(x).add().output();
    Output y = s.withDevice("/job:worker/task:0").node("Square").input(there).add().output();
    ClusterSession session = new ClusterSession(g, target);
    // Small values travel in messages, large ones through shared memory.
    for (int n : new int[] {1, 20_000}) {
      float[] values = new float[n];
      values[n - 1] = 3;
      Tensor r = session.fetch(y, Map.of(x, Tensor.vector(values)));
      assertEquals(9f, r.toFloats()[n - 1]);
    }
  }

  /** The servers soon give up the sessions of clients that have gone. */
  @Test
  void twoHundredSessionsThatVanishLeaveNothing() throws Exception {
    Config impatient =
        Config.ofProcess().with(ClusterSettings.SESSION_LINKED_GRACE, Duration.ofSeconds(1));
    try (Context context = Context.of("impatient", impatient)) {
      context.<Void, Exception>call(VanishingClientsTest::vanish);
    }
  }

  private static Void vanish() throws Exception {
    List<String> a = FreePorts.addresses(2);
    ClusterSpec cluster =
        ClusterSpec.of(Map.of("ps", List.of(a.get(0)), "worker", List.of(a.get(1))));
    try (Server ps = start(cluster, "ps");
        Server worker = start(cluster, "worker")) {
      // What a cluster that has been used once holds.
      assertEquals("done", ServerProcess.client(VanishingClientsTest.class, worker.target(), "1"));
      LeftBehind.eventually("sessions", 0, () -> sessions(ps, worker));
      LeftBehind before = LeftBehind.now();
      String said =
          ServerProcess.client(
              VanishingClientsTest.class, worker.target(), Integer.toString(SESSIONS));
      assertEquals("done", said);
      LeftBehind.eventually("sessions", 0, () -> sessions(ps, worker));
      LeftBehind.eventually(
          "steps", 0, () -> ps.worker().stepCount() + worker.worker().stepCount());
      // Between the two servers there is a link; those of clients are gone.
      LeftBehind.eventually("links and all else", 2, () -> ps.held() + worker.held());
      before.awaitNoMore();
    }
    return null;
  }

  private static Server start(ClusterSpec cluster, String job) {
    return Server.start(cluster, new TaskId(job, 0), StandardOps.registry());
  }

  private static int sessions(Server ps, Server worker) {
    return ps.worker().sessionCount()
        + worker.worker().sessionCount()
        + ps.master().sessionCount()
        + worker.master().sessionCount();
  }
}
