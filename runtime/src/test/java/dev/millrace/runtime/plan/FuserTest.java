package dev.millrace.runtime.plan;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.OpRegistry;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.gradient.Gradients;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.array.Reshape;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.math.MatMul;
import dev.millrace.ops.nn.Activations;
import dev.millrace.ops.nn.BiasAdd;
import dev.millrace.ops.nn.ConvolutionOps;
import dev.millrace.ops.nn.CrossEntropy;
import dev.millrace.ops.nn.Pool;
import dev.millrace.ops.state.Assign;
import dev.millrace.ops.state.VariableV2;
import dev.millrace.runtime.LocalSession;
import dev.millrace.runtime.RunOptions;
import dev.millrace.runtime.trace.StepTrace;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class FuserTest {
  /** A small convolutional network that trains by gradient descent. */
  private static final class Network {
    final Graph graph;
    final Scope scope;
    final List<Output> variables = new ArrayList<>();
    final List<Node> starts = new ArrayList<>();
    final Random random = new Random(7);
    final Output x;
    final Output labels;
    final Output loss;
    final List<Node> updates = new ArrayList<>();

    Network(OpRegistry registry) {
      graph = new Graph(registry);
      scope = Scope.of(graph);
      x = Placeholder.of(scope, DType.FLOAT, Shape.of(6, 8, 8, 1));
      labels = Placeholder.of(scope, DType.INT64, Shape.of(6));
      Output filter = variable(3, 3, 1, 16);
      Output conv = BiasAdd.of(scope, ConvolutionOps.of(scope, x, filter, 1, "SAME"), variable(16));
      Output pooled = Pool.max(scope, Activations.relu(scope, conv), 2, 2, "SAME");
      Output flat = Reshape.of(scope, pooled, Const.ints(scope, 6, 256));
      Output product = MatMul.of(scope, flat, variable(256, 5));
      Output hidden = Activations.relu(scope, Arithmetic.add(scope, product, variable(5)));
      Output logits = Arithmetic.add(scope, variable(3), MatMul.of(scope, hidden, variable(5, 3)));
      loss = CrossEntropy.sparse(scope, logits, labels);
      var gradients = Gradients.of(scope, List.of(loss), variables);
      for (int i = 0; i < variables.size(); i++) {
        Output dv = Gradients.dense(scope, gradients.get(i));
        updates.add(
            scope
                .node("ApplyGradientDescent")
                .input(variables.get(i))
                .input(Const.of(scope, 0.01f))
                .input(dv)
                .add());
      }
    }

    private Output variable(long... dims) {
      Output v = VariableV2.of(scope, DType.FLOAT, Shape.of(dims));
      variables.add(v);
      starts.add(Assign.of(scope, v, Const.of(scope, values(dims))));
      return v;
    }

    private Tensor values(long... dims) {
      Shape shape = Shape.of(dims);
      float[] f = new float[(int) shape.elements()];
      for (int i = 0; i < f.length; i++) {
        f[i] = (float) random.nextGaussian() * 0.3f;
      }
      return Tensor.of(shape, f);
    }

    /** The variables after three steps; the ops of the last one go into {@code ops}. */
    List<float[]> train(Set<String> ops) {
      Map<Output, Tensor> feeds =
          Map.of(x, values(6, 8, 8, 1), labels, Tensor.vector(0L, 1L, 2L, 0L, 1L, 2L));
      try (LocalSession session = new LocalSession(graph)) {
        session.run(starts.toArray(Node[]::new));
        for (int i = 0; i < 3; i++) {
          StepTrace trace = new StepTrace();
          RunOptions options = RunOptions.DEFAULT.withTrace(trace);
          session.run(feeds, List.of(loss), updates, options);
          ops.clear();
          trace.entries().forEach(e -> ops.add(e.op()));
        }
        return session.run(Map.of(), variables, List.of()).stream().map(Tensor::toFloats).toList();
      }
    }
  }

  @Test
  void aFusedNetworkTrainsAsTheUnfusedOne() {
    Set<String> plainOps = new java.util.TreeSet<>();
    Set<String> fusedOps = new java.util.TreeSet<>();
    List<float[]> plain = new Network(OpRegistry.of(StandardOps.ALL)).train(plainOps);
    List<float[]> fused = new Network(StandardOps.registry()).train(fusedOps);
    for (int i = 0; i < plain.size(); i++) {
      assertArrayEquals(plain.get(i), fused.get(i), 1e-5f, "variable " + i);
    }
    assertTrue(
        fusedOps.containsAll(
            Set.of(
                "_ConvolutionLayer",
                "_ConvolutionLayerGradient",
                "_FusedMatMul",
                "_DescentByProduct")),
        fusedOps::toString);
    assertEquals(
        Set.of(), plainOps.stream().filter(o -> o.contains("Fused")).collect(Collectors.toSet()));
  }

  @Test
  void aValueThatSomeoneElseReadsIsNotAbsorbed() {
    Graph g = StandardOps.newGraph();
    Scope s = Scope.of(g);
    Output x = Placeholder.of(s, DType.FLOAT, Shape.of(2, 2));
    Output product = MatMul.of(s, x, x);
    Output sum = Arithmetic.add(s, product, Placeholder.of(s, DType.FLOAT, Shape.of(2)));
    Arithmetic.mul(s, product, sum);
    assertSame(g, Fuser.fuse(g));
  }

  @Test
  void aGroupThatWouldWaitForItselfIsLeftAlone() {
    Graph g = StandardOps.newGraph();
    Scope s = Scope.of(g);
    Output v = VariableV2.of(s, DType.FLOAT, Shape.of(2, 2));
    Output x = Placeholder.of(s, DType.FLOAT, Shape.of(2, 2));
    Output product = MatMul.of(s, x, x);
    Node between = Assign.of(s.withControlInputs(product.node()), v, x);
    s.withControlInputs(between)
        .node("ApplyGradientDescent")
        .input(v)
        .input(Const.of(s, 1f))
        .input(product)
        .add();
    assertSame(g, Fuser.fuse(g));
  }

  @Test
  void whoWaitedForAnAbsorbedNodeWaitsForTheGroup() {
    Graph g = StandardOps.newGraph();
    Scope s = Scope.of(g);
    Output v = VariableV2.of(s, DType.FLOAT, Shape.of(2, 2));
    Output x = Placeholder.of(s, DType.FLOAT, Shape.of(2, 2));
    Output product = MatMul.of(s, x, x);
    Assign.of(s.withName("waiter").withControlInputs(product.node()), v, x);
    s.withName("update")
        .node("ApplyGradientDescent")
        .input(v)
        .input(Const.of(s, 1f))
        .input(product)
        .add();
    Graph out = Fuser.fuse(g);
    assertEquals(List.of(out.node("update")), out.node("waiter").controlInputs());
  }
}
