package dev.millrace.interop.bench;

import dev.millrace.interop.GraphWriter;
import dev.millrace.interop.RealTensorFlow;
import dev.millrace.interop.TensorFlowSessionOptions;
import dev.millrace.interop.TrainingGraph;
import dev.millrace.proto.GraphDef;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/** TensorFlow's local session. One contender per process, see {@link ContenderProcess}. */
public final class TensorFlowLocal {
  private TensorFlowLocal() {}

  private static TensorFlowSessionOptions threads(int n) {
    return TensorFlowSessionOptions.local().withThreads(n).withStepTimeout(Duration.ZERO);
  }

  private static String name(int threads) {
    return TensorFlowSteps.tensorFlow() + ", " + threads + (threads == 1 ? " thread" : " threads");
  }

  /** Training steps. Arguments: see {@link TrainingBatch#of}. */
  public static final class Training implements ContenderProcess.Maker {
    @Override
    public Contender make(List<String> arguments) {
      TrainingGraph graph = TrainingGraph.read(Path.of(arguments.get(0)));
      int threads = Integer.parseInt(arguments.get(1));
      RealTensorFlow tensorFlow = RealTensorFlow.of(graph.graph(), threads(threads));
      tensorFlow.run(graph.start(1), List.of(), List.of(TrainingGraph.INIT));
      return new TensorFlowSteps(
          name(threads),
          tensorFlow,
          TrainingBatch.of(graph, arguments),
          List.of(TrainingGraph.LOSS),
          List.of(TrainingGraph.TRAIN));
    }
  }

  /** Steps that add two numbers, one of them fed. Arguments: the number of threads. */
  public static final class Empty implements ContenderProcess.Maker {
    static final Map<String, Tensor> FEEDS = Map.of("x:0", Tensor.scalar(2f));

    static GraphDef graph() {
      GraphWriter graph = new GraphWriter();
      String x = graph.placeholder("x", DType.FLOAT, Shape.scalar());
      graph.add("sum", "AddV2", Map.of(), x, graph.constant("c", Tensor.scalar(1f)));
      return graph.build();
    }

    @Override
    public Contender make(List<String> arguments) {
      int threads = Integer.parseInt(arguments.get(0));
      return new TensorFlowSteps(
          name(threads),
          RealTensorFlow.of(graph(), threads(threads)),
          FEEDS,
          List.of("sum:0"),
          List.of());
    }
  }
}
