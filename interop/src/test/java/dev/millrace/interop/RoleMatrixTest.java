package dev.millrace.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.cluster.ClusterSession;
import dev.millrace.cluster.ClusterSpec;
import dev.millrace.cluster.Server;
import dev.millrace.cluster.TaskId;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.GlobalStep;
import dev.millrace.train.ReplicaDeviceSetter;
import dev.millrace.train.layers.Dense;
import dev.millrace.train.layers.Losses;
import dev.millrace.train.optimizer.GradientDescent;
import dev.millrace.train.variable.Initializers;
import dev.millrace.train.variable.VariableScope;
import dev.millrace.train.variable.Variables;
import dev.millrace.wire.GraphCodec;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Nobody can tell who is who: Millrace and TensorFlow as client, master, worker and parameter
 * server, in all sixteen combinations, train the same network to the same losses.
 */
class RoleMatrixTest {
  private static final int STEPS = 6;
  private static final float TOLERANCE = 1e-4f;

  /** Bits of a combination; a set bit means TensorFlow has the role. */
  private static final int CLIENT = 8;

  private static final int MASTER = 4;
  private static final int WORKER = 2;
  private static final int PS = 1;

  /** A multi-layer perceptron with its variables on the ps and the rest on the worker. */
  private record Model(Graph graph, Output x, Output y, Output loss, Node train, Node init) {
    static Model build() {
      Graph graph = StandardOps.newGraph();
      Scope scope = Scope.of(graph).withDevice(ReplicaDeviceSetter.of(1, "/job:worker/task:0"));
      VariableScope vs = VariableScope.of(scope);
      Output x = Placeholder.of(scope.withName("x"), DType.FLOAT, Shape.of(-1, 20));
      Output y = Placeholder.of(scope.withName("y"), DType.INT64, Shape.of(-1));
      Output h =
          Dense.units(16)
              .kernel(Initializers.value(random(20, 16)))
              .activation((s, v) -> s.node("Relu").input(v).add().output())
              .of(vs, "hidden", x);
      Output logits = Dense.units(5).kernel(Initializers.value(random(16, 5))).of(vs, "logits", h);
      Output loss = Losses.sparseSoftmaxCrossEntropy(scope, logits, y);
      Node train = new GradientDescent(0.5f).minimize(scope, loss, GlobalStep.of(vs));
      return new Model(graph, x, y, loss, train, Variables.initializer(scope));
    }

    private static Tensor random(int rows, int columns) {
      Random r = new Random(rows);
      float[] v = new float[rows * columns];
      for (int i = 0; i < v.length; i++) {
        v[i] = (float) r.nextGaussian() * 0.3f;
      }
      return Tensor.of(Shape.of(rows, columns), v);
    }

    private Map<Output, Tensor> batch() {
      Random r = new Random(7);
      float[] images = new float[32 * 20];
      long[] labels = new long[32];
      for (int i = 0; i < images.length; i++) {
        images[i] = r.nextFloat();
      }
      for (int i = 0; i < labels.length; i++) {
        labels[i] = r.nextInt(5);
      }
      return Map.of(x, Tensor.of(Shape.of(32, 20), images), y, Tensor.of(Shape.of(32), labels));
    }
  }

  /** Starts a task, ours in this process, TensorFlow's in one of its own. */
  private static AutoCloseable task(LoopbackCluster cluster, String job, boolean tensorFlow) {
    if (tensorFlow) {
      return TensorFlowServer.start(cluster, job, 0);
    }
    return Server.start(
        ClusterSpec.decode(cluster.definition()), new TaskId(job, 0), StandardOps.registry());
  }

  private static List<Float> lossesOf(Model m, String target, boolean tensorFlow) {
    List<Float> losses = new ArrayList<>();
    Map<Output, Tensor> batch = m.batch();
    if (tensorFlow) {
      Map<String, Tensor> feeds = Map.of(m.x.name(), batch.get(m.x), m.y.name(), batch.get(m.y));
      try (RealTensorFlow session =
          RealTensorFlow.of(GraphCodec.encode(m.graph), SessionOptions.at(target))) {
        session.run(m.init.name());
        for (int i = 0; i < STEPS; i++) {
          losses.add(
              session
                  .run(feeds, List.of(m.loss.name()), List.of(m.train.name()))
                  .getFirst()
                  .floatValue());
        }
      }
    } else {
      try (Session session = new ClusterSession(m.graph, target)) {
        session.run(m.init);
        for (int i = 0; i < STEPS; i++) {
          losses.add(session.run(batch, List.of(m.loss), List.of(m.train)).getFirst().floatValue());
        }
      }
    }
    return losses;
  }

  @SuppressWarnings("try") // The tasks are only there to be there.
  private static List<Float> train(int roles) throws Exception {
    Model m = Model.build();
    try (LoopbackCluster cluster = LoopbackCluster.psAndWorkers(1, 1).with("chief", 1);
        AutoCloseable ps = task(cluster, "ps", (roles & PS) != 0);
        AutoCloseable worker = task(cluster, "worker", (roles & WORKER) != 0);
        AutoCloseable master = task(cluster, "chief", (roles & MASTER) != 0)) {
      return lossesOf(m, cluster.target("chief", 0), (roles & CLIENT) != 0);
    }
  }

  /** What TensorFlow alone makes of it, in one process. */
  private static List<Float> expected() {
    Model m = Model.build();
    Map<Output, Tensor> batch = m.batch();
    Map<String, Tensor> feeds = Map.of(m.x.name(), batch.get(m.x), m.y.name(), batch.get(m.y));
    List<Float> losses = new ArrayList<>();
    dev.millrace.proto.GraphDef.Builder local = GraphCodec.encode(m.graph).toBuilder();
    local.getNodeBuilderList().forEach(n -> n.clearDevice());
    try (RealTensorFlow session = RealTensorFlow.of(local.build())) {
      session.run(m.init.name());
      for (int i = 0; i < STEPS; i++) {
        losses.add(
            session
                .run(feeds, List.of(m.loss.name()), List.of(m.train.name()))
                .getFirst()
                .floatValue());
      }
    }
    return losses;
  }

  @ParameterizedTest(name = "client x master x worker x ps = {0} (bits set: TensorFlow)")
  @ValueSource(ints = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15})
  void everyCombinationTrainsToTheSameLosses(int roles) throws Exception {
    List<Float> expected = expected();
    List<Float> losses = train(roles);
    for (int i = 0; i < STEPS; i++) {
      assertEquals(expected.get(i), losses.get(i), TOLERANCE, "step " + i + " of " + losses);
    }
    assertTrue(losses.getLast() < losses.getFirst() - 0.01f, losses::toString);
  }

  @Test
  void aTensorFlowSessionPinsOpsToTwoMillraceTasks() throws Exception {
    try (LoopbackCluster cluster = LoopbackCluster.of("local", 2)) {
      // Each in a process of its own, as by `millrace server`.
      try (MillraceServer one = MillraceServer.start(cluster, "local", 0);
          MillraceServer two = MillraceServer.start(cluster, "local", 1)) {
        GraphWriter graph = new GraphWriter();
        graph.device("/job:local/task:0");
        graph.add("x", "Placeholder", Map.of("dtype", DType.FLOAT));
        graph.add("a", "Square", Map.of(), "x");
        graph.device("/job:local/task:1");
        graph.add("b", "Neg", Map.of(), "a");
        for (MillraceServer master : List.of(one, two)) {
          try (RealTensorFlow session =
              RealTensorFlow.of(graph.build(), SessionOptions.at(master.target()))) {
            Tensor r =
                session
                    .run(Map.of("x:0", Tensor.vector(2f, 3f)), List.of("b:0"), List.of())
                    .getFirst();
            assertEquals(-4, r.doubleAt(0));
            assertEquals(-9, r.doubleAt(1));
          }
        }
      }
    }
  }
}
