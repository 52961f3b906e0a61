package dev.millrace.interop;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.graph.Graph;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.gradient.Grad;
import dev.millrace.graph.gradient.Gradients;
import dev.millrace.interop.conformance.Engine;
import dev.millrace.interop.conformance.MillraceEngine;
import dev.millrace.interop.conformance.TensorFlowEngine;
import dev.millrace.ops.StandardOps;
import dev.millrace.proto.GraphDef;
import dev.millrace.proto.NodeDef;
import dev.millrace.tensor.Tensor;
import dev.millrace.wire.GraphCodec;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** A graph with loops made by Python gives the same values in Millrace as in TensorFlow. */
@NeedsPython
class LoopGraphTest {
  private static final float[][] POINTS = {{0.5f, 1.25f, -0.75f}, {1.5f, 2, 0.5f}};

  @TempDir static Path folder;

  static Stream<Arguments> graphs() throws IOException {
    PythonTensorFlow.find()
        .run("loop_graphs.py", List.of(folder.toString()), Duration.ofMinutes(2));
    List<Arguments> graphs = new ArrayList<>();
    try (Stream<Path> files = Files.list(folder)) {
      for (Path file : files.sorted().toList()) {
        String name = file.getFileName().toString().replace(".pb", "");
        graphs.add(Arguments.of(name, GraphDef.parseFrom(Files.readAllBytes(file))));
      }
    }
    assertTrue(graphs.size() > 20, "Python has written " + graphs.size() + " graphs");
    return graphs.stream();
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("graphs")
  void valuesAndGradientsAgree(String name, GraphDef graph) {
    Set<String> nodes = names(graph);
    List<String> fetches = nodes.contains("dx") ? List.of("y:0", "dx:0") : List.of("y:0");
    for (float[] x : POINTS) {
      List<float[]> expected = run(new TensorFlowEngine(), graph, nodes, fetches, x);
      List<float[]> actual = run(new MillraceEngine(), graph, nodes, fetches, x);
      for (int i = 0; i < fetches.size(); i++) {
        assertClose(expected.get(i), actual.get(i), fetches.get(i));
      }
    }
  }

  /** Of some graphs TensorFlow has no gradient: their result does not depend on x by numbers. */
  static Stream<Arguments> differentiable() throws IOException {
    return graphs().filter(a -> names((GraphDef) a.get()[1]).contains("dx"));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("differentiable")
  void millracesGradientIsTensorFlows(String name, GraphDef def) {
    Set<String> nodes = names(def);
    Graph graph = StandardOps.newGraph();
    GraphCodec.importInto(def, graph, true);
    Scope scope = Scope.of(graph);
    List<Output> y = List.of(graph.output("y:0"));
    List<Output> x0 = List.of(graph.output("x:0"));
    Grad grad = Gradients.of(scope, y, x0).getFirst();
    String dx = Gradients.dense(scope, grad).name();
    GraphDef ours = GraphCodec.encode(graph);
    for (float[] x : POINTS) {
      float[] expected = run(new TensorFlowEngine(), def, nodes, List.of("dx:0"), x).getFirst();
      assertClose(
          expected, run(new MillraceEngine(), ours, nodes, List.of(dx), x).getFirst(), "Millrace");
      assertClose(
          expected,
          run(new TensorFlowEngine(), ours, nodes, List.of(dx), x).getFirst(),
          "TensorFlow, with the graph of Millrace");
    }
  }

  private static Set<String> names(GraphDef graph) {
    return graph.getNodeList().stream().map(NodeDef::getName).collect(Collectors.toSet());
  }

  private static void assertClose(float[] expected, float[] actual, String what) {
    float largest = 1;
    for (float v : expected) {
      largest = Math.max(largest, Math.abs(v));
    }
    assertArrayEquals(expected, actual, 1e-5f * largest, what);
  }

  private static List<float[]> run(
      Engine engine, GraphDef graph, Set<String> nodes, List<String> fetches, float[] x) {
    try (Engine.Loaded loaded = engine.load(graph)) {
      if (nodes.contains("init")) {
        loaded.run(Map.of(), List.of(), List.of("init"));
      }
      return loaded.run(Map.of("x:0", Tensor.vector(x)), fetches, List.of()).stream()
          .map(Tensor::toFloats)
          .toList();
    }
  }
}
