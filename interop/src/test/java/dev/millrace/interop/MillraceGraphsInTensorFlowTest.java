package dev.millrace.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.interop.TrainingSpec.Model;
import dev.millrace.interop.TrainingSpec.Variables;
import dev.millrace.interop.conformance.Engine;
import dev.millrace.interop.conformance.MillraceEngine;
import dev.millrace.interop.conformance.TensorFlowEngine;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.array.Reshape;
import dev.millrace.ops.nn.Activations;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.train.GlobalStep;
import dev.millrace.train.layers.Convolution;
import dev.millrace.train.layers.Dense;
import dev.millrace.train.layers.Flatten;
import dev.millrace.train.layers.Losses;
import dev.millrace.train.layers.Padding;
import dev.millrace.train.layers.Pooling;
import dev.millrace.train.optimizer.Adagrad;
import dev.millrace.train.optimizer.Adam;
import dev.millrace.train.optimizer.Ftrl;
import dev.millrace.train.optimizer.GradientDescent;
import dev.millrace.train.optimizer.Momentum;
import dev.millrace.train.optimizer.Optimizer;
import dev.millrace.train.optimizer.RmsProp;
import dev.millrace.train.variable.VariableScope;
import dev.millrace.wire.GraphCodec;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A training graph built by Millrace gives the same losses in TensorFlow as here, from the random
 * numbers its variables start with to the last update.
 */
class MillraceGraphsInTensorFlowTest {
  private static final int STEPS = 6;
  private static final int BATCH = 20;

  private static final Map<String, Supplier<Optimizer>> OPTIMIZERS =
      Map.of(
          "GradientDescent", () -> new GradientDescent(0.1f),
          "Momentum", () -> new Momentum(0.05f, 0.9f),
          "Adagrad", () -> new Adagrad(0.05f),
          "Adam", () -> new Adam(0.002f),
          "RMSProp", () -> new RmsProp(0.002f),
          "Ftrl", () -> new Ftrl(0.05f));

  /** What is built. */
  record Built(Model model, Variables variables, String optimizer) {}

  static Stream<Built> graphs() {
    List<Built> all = new ArrayList<>();
    for (Model model : List.of(Model.SOFTMAX, Model.MLP, Model.CNN)) {
      for (Variables variables : Variables.values()) {
        OPTIMIZERS.keySet().stream()
            .sorted()
            .forEach(optimizer -> all.add(new Built(model, variables, optimizer)));
      }
    }
    return all.stream();
  }

  /** A graph ready to be run anywhere. */
  private record Exported(TrainingGraph graph, String init, String loss, String train) {}

  // README claim: tf-files
  @ParameterizedTest
  @MethodSource("graphs")
  void lossesAgreeStepByStep(Built built) {
    Exported graph = export(built);
    List<Double> expected = losses(new TensorFlowEngine(), graph);
    List<Double> actual = losses(new MillraceEngine(), graph);
    for (int i = 0; i < STEPS; i++) {
      assertEquals(expected.get(i), actual.get(i), 2e-4 * expected.get(i), "step " + i);
    }
    // Every other batch is the same.
    assertTrue(actual.get(STEPS - 2) < actual.getFirst(), "nothing was learnt: " + actual);
  }

  private static Exported export(Built built) {
    Graph graph = StandardOps.newGraph();
    graph.setSeed(42);
    Scope scope = Scope.of(graph);
    VariableScope model =
        VariableScope.of(scope).withResources(built.variables() == Variables.RESOURCE);
    Output x = Placeholder.of(scope.withName("x"), DType.FLOAT, Shape.of(-1, 784));
    Output labels = Placeholder.of(scope.withName("labels"), DType.INT64, Shape.of(-1));
    Output logits = Dense.of(model, "out", features(built.model(), model, x), 10);
    Output loss = Losses.sparseSoftmaxCrossEntropy(scope, logits, labels);
    Optimizer optimizer = OPTIMIZERS.get(built.optimizer()).get();
    Node train = optimizer.minimize(scope, loss, GlobalStep.of(model));
    Node init = dev.millrace.train.variable.Variables.initializer(scope);
    // The batches are those of any model on pixels.
    TrainingSpec spec =
        TrainingSpec.local(Model.SOFTMAX, TrainingSpec.Optimizer.SGD, built.variables(), BATCH);
    TrainingGraph exported = new TrainingGraph(spec, GraphCodec.encode(graph));
    return new Exported(exported, init.name(), loss.name(), train.name());
  }

  private static List<Double> losses(Engine engine, Exported e) {
    List<Double> losses = new ArrayList<>();
    try (Engine.Loaded loaded = engine.load(e.graph().graph())) {
      loaded.run(Map.of(), List.of(), List.of(e.init()));
      for (int i = 0; i < STEPS; i++) {
        losses.add(
            loaded
                .run(e.graph().noise(i % 2), List.of(e.loss()), List.of(e.train()))
                .getFirst()
                .doubleValue());
      }
    }
    return losses;
  }

  private static Output features(Model model, VariableScope variables, Output x) {
    return switch (model) {
      case MLP -> Dense.of(variables, "hidden", x, 64, Activations::relu);
      case CNN -> {
        Scope scope = variables.scope();
        Output image = Reshape.of(scope, x, Shape.of(-1, 28, 28, 1));
        Output first =
            Convolution.of(8, 5).activation(Activations::relu).of(variables, "conv1", image);
        Output small = Pooling.max(scope, first, 2, 2, Padding.SAME);
        Output second =
            Convolution.of(16, 3).activation(Activations::relu).of(variables, "conv2", small);
        yield Flatten.of(scope, Pooling.average(scope, second, 2, 2, Padding.VALID));
      }
      default -> x;
    };
  }
}
