package dev.millrace.train.optimizer;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.math.MatMul;
import dev.millrace.ops.math.Reduction;
import dev.millrace.ops.nn.BiasAdd;
import dev.millrace.ops.nn.CrossEntropy;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.train.GlobalStep;
import dev.millrace.train.ReplicaDeviceSetter;
import dev.millrace.train.layers.Embedding;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Initializers;
import dev.millrace.train.variable.VariableScope;
import dev.millrace.train.variable.Variables;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Variables, slots and updates have the names, ops, inputs, devices and colocations that
 * TensorFlow's Python library gives them; nodes.py beside the expected lists wrote those.
 */
class OptimizerNodesTest {
  private static final Map<String, Supplier<Optimizer>> OPTIMIZERS =
      Map.of(
          "gradient_descent", () -> new GradientDescent(.5f),
          "momentum", () -> new Momentum(.5f, .9f, true),
          "adagrad", () -> new Adagrad(.5f),
          "adadelta", () -> new Adadelta(.5f),
          "adam", () -> new Adam(.5f),
          "rmsprop", () -> new RmsProp(.5f),
          "centered_rmsprop", () -> new RmsProp(.5f, new RmsProp.Settings(.9f, 0, 1e-10f, true)),
          "ftrl", () -> new Ftrl(.5f));

  static Stream<Arguments> cases() {
    return OPTIMIZERS.keySet().stream()
        .sorted()
        .flatMap(n -> Stream.of(Arguments.of(n, false), Arguments.of(n, true)));
  }

  @ParameterizedTest
  @MethodSource("cases")
  void nodesAreTensorFlows(String name, boolean resource) throws IOException {
    Graph graph = StandardOps.newGraph();
    Scope scope = Scope.of(graph).withDevice(ReplicaDeviceSetter.of(2));
    build(scope, OPTIMIZERS.get(name).get(), resource);
    Predicate<String> compared = line -> isCompared(line, resource);
    List<String> theirs =
        expected(name + (resource ? ".resource.txt" : ".ref.txt")).filter(compared).toList();
    List<String> ours =
        graph.nodes().stream()
            .filter(n -> isOwn(n.name()))
            .map(OptimizerNodesTest::line)
            .filter(compared)
            .toList();
    assertEquals(without(theirs, ours), without(ours, theirs));
  }

  private static String without(List<String> lines, List<String> others) {
    return lines.stream().filter(l -> !others.contains(l)).collect(Collectors.joining("\n"));
  }

  private static void build(Scope scope, Optimizer optimizer, boolean resource) {
    VariableScope vs = VariableScope.of(scope).withResources(resource);
    Output x = Placeholder.of(scope.withName("x"), DType.FLOAT, Shape.of(-1, 4));
    Output y = Placeholder.of(scope.withName("y"), DType.INT64, Shape.of(-1));
    Output ids = Placeholder.of(scope.withName("ids"), DType.INT64, Shape.of(-1));
    GraphVariable w = vs.variable("w", Shape.of(4, 3));
    GraphVariable b = vs.variable("b", Shape.of(3), Initializers.zeros());
    GraphVariable e = vs.variable("e", Shape.of(700, 4), Initializers.truncatedNormal(0, .1));
    Output h = Arithmetic.add(scope.withName("add"), x, Embedding.lookup(scope, e, ids));
    Output logits = BiasAdd.of(scope, MatMul.of(scope, h, w.read()), b.read());
    Output loss = Reduction.meanAll(scope, CrossEntropy.sparse(scope, logits, y));
    GraphVariable step = GlobalStep.of(vs);
    optimizer.minimize(scope, loss, step);
    Variables.initializer(scope);
  }

  private static Stream<String> expected(String file) throws IOException {
    try (InputStream in = OptimizerNodesTest.class.getResourceAsStream(file)) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8).lines();
    }
  }

  private static boolean isOwn(String name) {
    return !name.startsWith("gradients")
        && (!name.contains("ReadVariableOp") || name.contains("/Read/"));
  }

  /**
   * Leaves out the loss, which Python makes of other ops; the inner workings of Adam on resources,
   * where Python reads values again and again; constants Python makes twice; and a large constant,
   * which is filled in here.
   */
  private static boolean isCompared(String line, boolean resource) {
    return !line.contains("SparseSoftmaxCrossEntropy")
        && !line.startsWith("Const =")
        && !line.startsWith("Mean =")
        && !line.startsWith("Ftrl/Maximum")
        && !line.startsWith("e/Adagrad/Initializer/")
        && !(resource && (line.startsWith("Adam/update_e/") || line.startsWith("Adam/mul")));
  }

  private static String line(Node n) {
    Stream<String> data =
        n.inputs().stream().map(in -> isOwn(in.inputName()) && !isRead(in) ? in.inputName() : "*");
    Stream<String> control =
        n.controlInputs().stream().filter(c -> isOwn(c.name())).map(c -> "^" + c.name()).sorted();
    return (n.name()
            + " = "
            + n.op().name()
            + Stream.concat(data, control).collect(Collectors.joining(", ", "(", ")"))
            + " "
            + n.device()
            + " "
            + n.colocations().stream().map(c -> "loc:@" + c).collect(Collectors.joining(" ")))
        .strip();
  }

  /** A resource variable's value, which Python reads anew at each use. */
  private static boolean isRead(Output in) {
    return in.node().op().name().equals("ReadVariableOp");
  }
}
