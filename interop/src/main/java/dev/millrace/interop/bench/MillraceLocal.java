package dev.millrace.interop.bench;

import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.interop.TrainingGraph;
import dev.millrace.ops.StandardOps;
import dev.millrace.proto.GraphDef;
import dev.millrace.runtime.LocalSession;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.Parallel;
import dev.millrace.tensor.math.onednn.OneDnn;
import dev.millrace.wire.GraphCodec;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Millrace's local session, on the graphs TensorFlow runs. */
public final class MillraceLocal {
  private MillraceLocal() {}

  static Graph graph(GraphDef def) {
    Graph graph = StandardOps.newGraph();
    GraphCodec.importInto(def, graph, true);
    return graph;
  }

  /** Initializes the variables of a training graph. */
  static void initialize(Session session, Graph graph, TrainingGraph training) {
    Map<Output, Tensor> start = new LinkedHashMap<>();
    training.start(1).forEach((name, value) -> start.put(graph.output(name), value));
    Node init = graph.node(TrainingGraph.INIT);
    session.run(start, init);
  }

  private static String name(int threads) {
    return (OneDnn.isAvailable() ? "Millrace, " : "Millrace in pure Java, ")
        + threads
        + (threads == 1 ? " thread" : " threads");
  }

  /** Training steps. Arguments: see {@link TrainingBatch#of}. */
  public static final class Training implements ContenderProcess.Maker {
    @Override
    public Contender make(List<String> arguments) {
      TrainingGraph training = TrainingGraph.read(Path.of(arguments.get(0)));
      int threads = Integer.parseInt(arguments.get(1));
      Parallel.setThreads(threads);
      Graph graph = graph(training.graph());
      Session session = new LocalSession(graph);
      initialize(session, graph, training);
      return new MillraceSteps(
          name(threads),
          graph,
          session,
          TrainingBatch.of(training, arguments),
          List.of(TrainingGraph.LOSS),
          List.of(TrainingGraph.TRAIN));
    }
  }

  /** Steps that add two numbers, one of them fed. Arguments: the number of threads. */
  public static final class Empty implements ContenderProcess.Maker {
    @Override
    public Contender make(List<String> arguments) {
      int threads = Integer.parseInt(arguments.get(0));
      Parallel.setThreads(threads);
      Graph graph = graph(TensorFlowLocal.Empty.graph());
      return new MillraceSteps(
          name(threads),
          graph,
          new LocalSession(graph),
          TensorFlowLocal.Empty.FEEDS,
          List.of("sum:0"),
          List.of());
    }
  }
}
