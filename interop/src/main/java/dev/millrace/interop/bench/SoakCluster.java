package dev.millrace.interop.bench;

import dev.millrace.base.ProcessMemory;
import dev.millrace.base.Timers;
import dev.millrace.base.config.Config;
import dev.millrace.base.config.TestSettings;
import dev.millrace.cluster.ClusterSession;
import dev.millrace.graph.Graph;
import dev.millrace.interop.GraphWriter;
import dev.millrace.interop.LoopbackCluster;
import dev.millrace.interop.MillraceServer;
import dev.millrace.proto.GraphDef;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.io.IOException;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Steps without end between a ps, a worker and clients, each in a process of its own, while the
 * memory of all is written down: {@code -Dminutes=30} says for how long, {@code -Drate=500} at most
 * how many steps a second (without it as many as the machine can). Every session lasts a thousand
 * steps. Ends with 1 if the memory of all three grew in the second half by more than a twentieth.
 */
public final class SoakCluster {
  private static final int STEPS_PER_SESSION = 1000;
  private static final int LINES = 30;

  private static final long NANOS_PER_STEP =
      Config.ofProcess().find(TestSettings.SOAK_RATE).map(r -> 1_000_000_000L / r).orElse(0L);

  private SoakCluster() {}

  /** Runs the soak. */
  public static void main(String[] args) throws IOException {
    long nanos = Config.ofProcess().get(TestSettings.SOAK_MINUTES).toNanos();
    try (LoopbackCluster cluster = LoopbackCluster.psAndWorkers(1, 1);
        MillraceServer ps = MillraceServer.start(cluster, "ps", 0);
        MillraceServer worker = MillraceServer.start(cluster, "worker", 0)) {
      System.out.printf(
          "%8s %12s %12s %12s %12s%n", "s", "steps", "ps MiB", "worker MiB", "client MiB");
      long start = Timers.system().now();
      long steps = 0;
      long half = 0;
      long now = 0;
      for (int line = 1; line <= LINES; line++) {
        while (Timers.system().now() - start < nanos / LINES * line) {
          steps += session(cluster.target("worker", 0));
        }
        long[] each = {
          mebibytes(ps.pid()), mebibytes(worker.pid()), mebibytes(ProcessHandle.current().pid())
        };
        now = each[0] + each[1] + each[2];
        half = line == LINES / 2 ? now : half;
        System.out.printf(
            Locale.ROOT,
            "%8.0f %,12d %,12d %,12d %,12d%n",
            (Timers.system().now() - start) / 1e9,
            steps,
            each[0],
            each[1],
            each[2]);
      }
      boolean flat = now <= half * 1.05;
      System.out.printf(
          Locale.ROOT,
          "%s: %,d MiB at half time, %,d at the end%n",
          flat ? "flat" : "GROWN",
          half,
          now);
      Runtime.getRuntime().halt(flat ? 0 : 1);
    }
  }

  /** A session that adds a fed gradient to a variable on the ps and reads it on the worker. */
  private static int session(String target) {
    Graph graph = MillraceLocal.graph(graph());
    try (Session session = new ClusterSession(graph, target);
        Tensor gradient = Tensor.allocate(DType.FLOAT, Shape.of(100_000))) {
      gradient.data().fill((byte) 0);
      session.run(graph.node("init"));
      Session.Callable step =
          session.makeCallable(
              List.of(graph.output("gradient:0")),
              List.of(graph.output("sum:0")),
              List.of(graph.node("update")));
      long start = Timers.system().now();
      for (int i = 0; i < STEPS_PER_SESSION; i++) {
        Timers.system().park(null, start + i * NANOS_PER_STEP - Timers.system().now());
        for (Tensor t : step.run(gradient)) {
          t.close();
        }
      }
    }
    return STEPS_PER_SESSION;
  }

  private static GraphDef graph() {
    GraphWriter g = new GraphWriter();
    Shape shape = Shape.of(100_000);
    g.device("/job:ps/task:0");
    g.add("v", "VariableV2", Map.of("dtype", DType.FLOAT, "shape", shape));
    g.constant("dims", Tensor.vector(shape.dims()));
    g.constant("one", Tensor.scalar(1f));
    g.add("fill", "Fill", Map.of(), "dims", "one");
    g.add("init", "Assign", Map.of(), "v", "fill");
    g.device("/job:worker/task:0");
    g.placeholder("gradient", DType.FLOAT, shape);
    g.add("scaled", "AddV2", Map.of(), "gradient", "v");
    g.constant("axis", Tensor.vector(0));
    g.add("sum", "Sum", Map.of(), "scaled", "axis");
    g.add("small", "Sub", Map.of(), "scaled", "scaled");
    g.device("/job:ps/task:0");
    g.add("update", "AssignAdd", Map.of(), "v", "small");
    return g.build();
  }

  private static long mebibytes(long pid) {
    return ProcessMemory.residentBytes(pid) >> 20;
  }
}
