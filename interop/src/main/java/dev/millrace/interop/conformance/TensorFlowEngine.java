package dev.millrace.interop.conformance;

import dev.millrace.interop.RealTensorFlow;
import dev.millrace.interop.TensorFlowSessionOptions;
import dev.millrace.proto.ConfigProto;
import dev.millrace.proto.GraphDef;
import dev.millrace.proto.GraphOptions;
import dev.millrace.proto.OptimizerOptions;
import dev.millrace.proto.RewriterConfig;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.Map;

/** TensorFlow's C++ runtime, told not to rewrite graphs, so that each op itself is what runs. */
public final class TensorFlowEngine implements Engine {
  private static final ConfigProto PLAIN =
      ConfigProto.newBuilder()
          .setGraphOptions(
              GraphOptions.newBuilder()
                  .setRewriteOptions(RewriterConfig.newBuilder().setDisableMetaOptimizer(true))
                  .setOptimizerOptions(
                      OptimizerOptions.newBuilder().setOptLevel(OptimizerOptions.Level.L0)))
          .build();

  @Override
  public Loaded load(GraphDef graph) {
    RealTensorFlow tensorFlow =
        RealTensorFlow.of(graph, TensorFlowSessionOptions.local().withConfig(PLAIN));
    return new Loaded() {
      @Override
      public List<Tensor> run(
          Map<String, Tensor> feeds, List<String> fetches, List<String> targets) {
        return tensorFlow.run(feeds, fetches, targets);
      }

      @Override
      public Shape inferredShape(String output) {
        return tensorFlow.inferredShape(output);
      }

      @Override
      public Map<String, String> addGradients(List<String> ys, List<String> xs) {
        return tensorFlow.addGradients(ys, xs);
      }

      @Override
      public void close() {
        tensorFlow.close();
      }
    };
  }
}
