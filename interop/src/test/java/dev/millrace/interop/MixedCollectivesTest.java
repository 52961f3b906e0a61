package dev.millrace.interop;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import dev.millrace.cluster.ClusterSession;
import dev.millrace.cluster.Server;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.proto.ConfigProto;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.wire.GraphCodec;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletionService;
import java.util.concurrent.ExecutorCompletionService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Two workers of Millrace and one of TensorFlow do collective ops together, each with a session and
 * a graph of its own, whichever of them is the leader.
 */
class MixedCollectivesTest {
  private static final int WORKERS = 3;

  /** The task that is TensorFlow's. */
  private static final int FOREIGN = 1;

  private static final int STEPS = 3;

  /** What each worker fetches in every step. */
  private record Program(Graph graph, List<Output> fetches) {}

  /** Worker {@code w}'s value number {@code i}, which no sum of others equals. */
  private static float value(int w, int i) {
    return (w + 1) * 1000 + i;
  }

  private static Program program(int w) {
    Graph g = StandardOps.newGraph();
    Scope s = Scope.of(g).withDevice("/job:worker/task:" + w);
    List<Output> fetches = new ArrayList<>();
    // Sizes below one aligned piece, with short and empty pieces, and one of several rings.
    int instance = 1;
    for (int size : new int[] {1, 50, 1000, 100_003}) {
      fetches.add(reduce(s, own(w, size), instance++, "Add", "Div", List.of(0)));
    }
    fetches.add(reduce(s, own(w, 777), instance++, "Max", "Id", List.of(0, 0)));
    Output x = Const.of(s, own(w, 6));
    Output two =
        s.node("CollectiveReduceV2")
            .input(x)
            .input(Const.of(s, WORKERS))
            .input(Const.of(s, 9))
            .input(Const.of(s, instance++))
            .inputs(List.of())
            .attr("merge_op", "Mul")
            .attr("final_op", "Id")
            .add()
            .output();
    fetches.add(two);
    fetches.add(
        keys(s.node("CollectiveGather").input(x), instance++)
            .attr("shape", Shape.of(18))
            .add()
            .output());
    fetches.add(
        s.node("CollectiveAllToAllV2")
            .input(Const.of(s, own(w, 6).reshaped(Shape.of(WORKERS, 2))))
            .input(Const.of(s, WORKERS))
            .input(Const.of(s, 9))
            .input(Const.of(s, instance++))
            .inputs(List.of())
            .add()
            .output());
    for (int source = 0; source < WORKERS; source++) {
      fetches.add(
          keys(
                  w == source
                      ? s.node("CollectiveBcastSend").input(x)
                      : s.node("CollectiveBcastRecv").attr("T", DType.FLOAT),
                  instance++)
              .attr("shape", Shape.of(6))
              .add()
              .output());
    }
    return new Program(g, fetches);
  }

  private static dev.millrace.graph.NodeBuilder keys(
      dev.millrace.graph.NodeBuilder b, int instance) {
    return b.attr("group_size", WORKERS).attr("group_key", 9).attr("instance_key", instance);
  }

  private static Output reduce(
      Scope s, Tensor x, int instance, String merge, String last, List<Integer> rings) {
    return keys(s.node("CollectiveReduce").input(Const.of(s, x)), instance)
        .attr("merge_op", merge)
        .attr("final_op", last)
        .attr("subdiv_offsets", rings)
        .add()
        .output();
  }

  private static Tensor own(int w, int size) {
    float[] v = new float[size];
    for (int i = 0; i < size; i++) {
      v[i] = value(w, i);
    }
    return Tensor.vector(v);
  }

  private static void check(int worker, List<Tensor> got) {
    int at = 0;
    for (int size : new int[] {1, 50, 1000, 100_003}) {
      float[] mean = new float[size];
      for (int i = 0; i < size; i++) {
        mean[i] = 2000 + i;
      }
      assertArrayEquals(mean, got.get(at++).toFloats());
    }
    assertArrayEquals(own(2, 777).toFloats(), got.get(at++).toFloats());
    float[] product = new float[6];
    float[] all = new float[18];
    for (int i = 0; i < 6; i++) {
      product[i] = value(0, i) * value(1, i) * value(2, i);
      for (int w = 0; w < WORKERS; w++) {
        all[6 * w + i] = value(w, i);
      }
    }
    assertArrayEquals(product, got.get(at++).toFloats(), 4096);
    assertArrayEquals(all, got.get(at++).toFloats());
    float[] rows = new float[6];
    for (int i = 0; i < 6; i++) {
      rows[i] = value(i / 2, 2 * worker + i % 2);
    }
    assertArrayEquals(rows, got.get(at++).toFloats());
    for (int source = 0; source < WORKERS; source++) {
      assertArrayEquals(own(source, 6).toFloats(), got.get(at++).toFloats());
    }
    assertEquals(at, got.size());
  }

  @ParameterizedTest
  @ValueSource(ints = {0, FOREIGN})
  void twoMillraceWorkersAndOneOfTensorFlowReduceTogether(int leader) throws Exception {
    String leaderName = new TaskId("worker", leader).name();
    ConfigProto.Builder config = ConfigProto.newBuilder();
    config.getExperimentalBuilder().setCollectiveGroupLeader(leaderName);
    // Loading the library keeps the processors busy; tasks that answer late count as lost.
    RealTensorFlow.version();
    ExecutorService threads = Executors.newCachedThreadPool();
    try (LoopbackCluster cluster = LoopbackCluster.of("worker", WORKERS);
        TensorFlowServer theirs =
            TensorFlowServer.start(cluster.server("worker", FOREIGN, config.build()))) {
      ClusterSpec spec = ClusterSpec.decode(cluster.definition());
      List<Server> ours = new ArrayList<>();
      try {
        CompletionService<Void> workers = new ExecutorCompletionService<>(threads);
        for (int w = 0; w < WORKERS; w++) {
          int worker = w;
          Program p = program(w);
          ConfigProto alone = config.clone().addDeviceFilters("/job:worker/task:" + w).build();
          Callable<Void> work;
          if (w == FOREIGN) {
            work = () -> workInTensorFlow(p, theirs.target(), alone);
          } else {
            Server server =
                Server.startLedBy(
                    leaderName, spec, new TaskId("worker", w), StandardOps.registry());
            ours.add(server);
            work = () -> workInMillrace(worker, p, server.target(), alone);
          }
          workers.submit(work);
        }
        for (int w = 0; w < WORKERS; w++) {
          // The first to fail is the one with something to say.
          Future<Void> ended = workers.poll(120, TimeUnit.SECONDS);
          assertNotNull(ended, "workers go on");
          ended.get();
        }
      } finally {
        ours.forEach(Server::close);
      }
    } finally {
      threads.shutdownNow();
    }
  }

  private static Void workInMillrace(int worker, Program p, String target, ConfigProto config) {
    try (Session session = new ClusterSession(p.graph, target, config)) {
      for (int step = 0; step < STEPS; step++) {
        List<Tensor> got = session.run(Map.of(), p.fetches, List.of());
        check(worker, got);
        got.forEach(Tensor::close);
      }
    }
    return null;
  }

  private static Void workInTensorFlow(Program p, String target, ConfigProto config) {
    try (RealTensorFlow session =
        RealTensorFlow.of(
            GraphCodec.encode(p.graph), TensorFlowSessionOptions.at(target).withConfig(config))) {
      for (int step = 0; step < STEPS; step++) {
        check(
            FOREIGN,
            session.run(Map.of(), p.fetches.stream().map(Output::name).toList(), List.of()));
      }
    }
    return null;
  }
}
