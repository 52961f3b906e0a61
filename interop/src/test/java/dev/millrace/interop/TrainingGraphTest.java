package dev.millrace.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.interop.TrainingSpec.Model;
import dev.millrace.interop.TrainingSpec.Optimizer;
import dev.millrace.interop.TrainingSpec.Variables;
import dev.millrace.tensor.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

@NeedsPython
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class TrainingGraphTest {
  private static final int STEPS = 5;

  private List<TrainingGraph> graphs;

  Stream<TrainingGraph> graphs() {
    if (graphs == null) {
      List<TrainingSpec> specs = new ArrayList<>();
      for (Optimizer optimizer : Optimizer.values()) {
        specs.add(TrainingSpec.local(Model.SOFTMAX, optimizer, Variables.REF, 20));
      }
      specs.add(TrainingSpec.local(Model.EMBEDDING, Optimizer.ADAGRAD, Variables.RESOURCE, 20));
      specs.add(TrainingSpec.local(Model.MLP, Optimizer.SGD, Variables.RESOURCE, 20));
      specs.add(TrainingSpec.local(Model.CNN, Optimizer.SGD, Variables.REF, 20));
      graphs = TrainingGraph.of(PythonTensorFlow.find(), specs);
    }
    return graphs.stream();
  }

  @ParameterizedTest
  @MethodSource("graphs")
  void everyGraphLearns(TrainingGraph graph) {
    List<Double> losses = losses(graph);
    assertTrue(losses.getLast() < losses.getFirst(), losses.toString());
  }

  @Test
  void theLossesOfPythonAndOfTheCLibraryAgree(@TempDir Path folder) throws IOException {
    TrainingGraph graph =
        graphs().filter(g -> g.spec().optimizer() == Optimizer.ADAM).findFirst().orElseThrow();
    Path file = folder.resolve("graph.pb");
    Files.write(file, graph.graph().toByteArray());
    Path feeds = Files.createDirectory(folder.resolve("feeds"));
    Stream.of(graph.start(1), graph.batch(1))
        .flatMap(m -> m.entrySet().stream())
        .forEach(
            feed ->
                Npy.write(
                    feeds.resolve(feed.getKey().replace(":0", ".npy").replace('/', '@')),
                    feed.getValue()));
    List<Double> python =
        PythonTensorFlow.find()
            .run("train.py", List.of(file + "", feeds + "", STEPS + ""), Duration.ofMinutes(1))
            .lines()
            .map(Double::valueOf)
            .toList();
    List<Double> c = losses(graph);
    assertEquals(STEPS, python.size());
    for (int i = 0; i < STEPS; i++) {
      assertEquals(python.get(i), c.get(i), 1e-5 * python.get(i));
    }
  }

  @Test
  void variablesOfAClusterGoToThePs() {
    TrainingSpec spec =
        TrainingSpec.local(Model.SOFTMAX, Optimizer.SGD, Variables.REF, 20).onCluster(2, 1);
    TrainingGraph graph = TrainingGraph.of(PythonTensorFlow.find(), List.of(spec)).getFirst();
    assertEquals(
        List.of("/job:ps/task:0", "/job:ps/task:1", "/job:ps/task:0"),
        graph.graph().getNodeList().stream()
            .filter(n -> n.getOp().equals("VariableV2"))
            .map(n -> n.getDevice())
            .toList());
    assertTrue(
        graph.graph().getNodeList().stream()
            .anyMatch(
                n -> n.getName().equals("loss") && n.getDevice().equals("/job:worker/task:1")));
  }

  private static List<Double> losses(TrainingGraph graph) {
    List<Double> losses = new ArrayList<>();
    try (RealTensorFlow tf = RealTensorFlow.of(graph.graph())) {
      tf.run(graph.start(1), List.of(), List.of(TrainingGraph.INIT));
      Map<String, Tensor> batch = graph.batch(1);
      for (int i = 0; i < STEPS; i++) {
        losses.add(
            tf.run(batch, List.of(TrainingGraph.LOSS), List.of(TrainingGraph.TRAIN))
                .getFirst()
                .doubleValue());
      }
    }
    return losses;
  }
}
