package dev.millrace.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.millrace.interop.TrainingSpec.Model;
import dev.millrace.interop.TrainingSpec.Optimizer;
import dev.millrace.interop.TrainingSpec.Variables;
import dev.millrace.interop.conformance.Engine;
import dev.millrace.interop.conformance.MillraceEngine;
import dev.millrace.interop.conformance.TensorFlowEngine;
import dev.millrace.ops.StandardOps;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** A training graph made by Python gives the same losses in Millrace as in TensorFlow. */
@NeedsPython
class MillraceTrainingTest {
  private static final int STEPS = 8;

  static Stream<TrainingGraph> graphs() {
    List<TrainingSpec> specs = new ArrayList<>();
    for (Variables variables : Variables.values()) {
      for (Optimizer optimizer : Optimizer.values()) {
        specs.add(TrainingSpec.local(Model.SOFTMAX, optimizer, variables, 20));
        specs.add(TrainingSpec.local(Model.MLP, optimizer, variables, 20));
      }
      for (Optimizer optimizer :
          List.of(Optimizer.SGD, Optimizer.MOMENTUM, Optimizer.ADAGRAD, Optimizer.ADAM)) {
        specs.add(TrainingSpec.local(Model.EMBEDDING, optimizer, variables, 20));
      }
      for (Optimizer optimizer :
          List.of(
              Optimizer.SGD,
              Optimizer.MOMENTUM,
              Optimizer.ADAGRAD,
              Optimizer.ADAM,
              Optimizer.RMSPROP,
              Optimizer.FTRL)) {
        specs.add(TrainingSpec.local(Model.CNN, optimizer, variables, 10));
      }
    }
    return TrainingGraph.of(PythonTensorFlow.find(), specs).stream();
  }

  @ParameterizedTest
  @MethodSource("graphs")
  void lossesAgreeStepByStep(TrainingGraph graph) {
    Set<String> missing = new TreeSet<>();
    graph.graph().getNodeList().forEach(node -> missing.add(node.getOp()));
    StandardOps.ALL.forEach(op -> missing.remove(op.name()));
    if (!missing.isEmpty()) {
      System.out.println("SKIPPED: " + graph + ", because Millrace has no " + missing);
    }
    assumeTrue(missing.isEmpty());
    List<Double> expected = losses(new TensorFlowEngine(), graph);
    List<Double> actual = losses(new MillraceEngine(), graph);
    for (int i = 0; i < STEPS; i++) {
      assertEquals(expected.get(i), actual.get(i), 1e-4 * expected.get(i), "step " + i);
    }
  }

  private static List<Double> losses(Engine engine, TrainingGraph graph) {
    List<Double> losses = new ArrayList<>();
    try (Engine.Loaded loaded = engine.load(graph.graph())) {
      loaded.run(graph.start(1), List.of(), List.of(TrainingGraph.INIT));
      for (int i = 0; i < STEPS; i++) {
        Map<String, Tensor> batch = graph.batch(i);
        losses.add(
            loaded
                .run(batch, List.of(TrainingGraph.LOSS), List.of(TrainingGraph.TRAIN))
                .getFirst()
                .doubleValue());
      }
    }
    return losses;
  }
}
