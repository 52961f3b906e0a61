package dev.millrace.train.optimizer;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.math.MatMul;
import dev.millrace.ops.math.Reduction;
import dev.millrace.ops.nn.BiasAdd;
import dev.millrace.ops.nn.CrossEntropy;
import dev.millrace.runtime.LocalSession;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.GlobalStep;
import dev.millrace.train.layers.Embedding;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Initializers;
import dev.millrace.train.variable.VariableScope;
import dev.millrace.train.variable.Variables;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The losses of five steps of training are TensorFlow's, for reference and resource variables, with
 * whole gradients and with rows that repeat. losses.py, among the resources, printed the table.
 */
class OptimizerLossesTest {
  private static final double[] GRADIENT_DESCENT = {
    1.18725, 1.0612578, .9778599, .9166217, .8683912
  };
  private static final double[] MOMENTUM = {1.18725, 1.0612578, .9058402, .7909712, .7207510};
  private static final double[] NESTEROV = {1.18725, .9720080, .8260868, .7302041, .6515158};
  private static final double[] ADAGRAD = {1.18725, .9069933, .8014110, .7242365, .6582784};
  private static final double[] ADADELTA = {1.18725, 1.0759524, .9955912, .9343641, .8853171};
  private static final double[] ADAM = {1.18725, 1.0062184, .8889766, .8062344, .7347514};
  private static final double[] RMSPROP = {1.18725, 1.1582909, 1.1171352, 1.0729862, 1.0301946};
  private static final double[] CENTERED = {1.18725, 1.1582853, 1.1304466, 1.1036733, 1.0779074};
  private static final double[] FTRL = {1.18725, 1.0979333, 1.0820087, 1.0675839, 1.0482203};
  private static final double[] FTRL_V2 = {1.18725, 1.1251371, 1.1113715, 1.1047449, 1.1014612};

  static Stream<Arguments> cases() {
    Map<Supplier<Optimizer>, double[]> table =
        Map.of(
            () -> new GradientDescent(.5f),
            GRADIENT_DESCENT,
            () -> new Momentum(.5f, .9f),
            MOMENTUM,
            () -> new Momentum(.5f, .9f, true),
            NESTEROV,
            () -> new Adagrad(.5f),
            ADAGRAD,
            () -> new Adadelta(.5f, .9f, 1e-2f),
            ADADELTA,
            () -> new Adam(.1f),
            ADAM,
            () -> new RmsProp(.1f, new RmsProp.Settings(.9f, .5f, 1e-10f, false)),
            RMSPROP,
            () -> new RmsProp(.1f, new RmsProp.Settings(.9f, 0, 1e-10f, true)),
            CENTERED,
            () -> new Ftrl(.5f, new Ftrl.Settings(-.5f, .1f, .01f, .02f, 0, 0)),
            FTRL,
            () -> new Ftrl(.5f, new Ftrl.Settings(-.5f, .1f, 0, 0, .1f, .3f)),
            FTRL_V2);
    return table.entrySet().stream()
        .flatMap(
            e ->
                Stream.of(
                    Arguments.of(e.getKey(), false, e.getValue()),
                    Arguments.of(e.getKey(), true, e.getValue())));
  }

  @ParameterizedTest
  @MethodSource("cases")
  void lossesAreTensorFlows(Supplier<Optimizer> optimizer, boolean resource, double[] expected) {
    Scope s = Scope.of(StandardOps.newGraph());
    VariableScope vs = VariableScope.of(s).withResources(resource);
    GraphVariable e = wave(vs, "e", 5, 4);
    GraphVariable w = wave(vs, "w", 4, 3);
    GraphVariable b = wave(vs, "b", 3);
    Output x = Const.of(s, wave(6, 4));
    Output rows = Embedding.lookup(s, e, Const.ints(s, 0, 3, 3, 1, 0, 3));
    Output product = MatMul.of(s, Arithmetic.mul(s, x, rows), w.read());
    Output logits = BiasAdd.of(s, product, b.read());
    Output labels = Const.ints(s, 0, 1, 2, 0, 1, 2);
    Output loss = Reduction.meanAll(s, CrossEntropy.sparse(s, logits, labels));
    GraphVariable step = GlobalStep.of(vs);
    Node train = optimizer.get().minimize(s, loss, step);
    Node init = Variables.initializer(s);
    double[] losses = new double[expected.length];
    try (Session session = new LocalSession(s.graph())) {
      session.run(init);
      for (int i = 0; i < losses.length; i++) {
        losses[i] = session.fetch(loss).floatValue();
        session.run(train);
      }
      assertEquals(losses.length, session.fetch(step.read()).longValue());
    }
    assertArrayEquals(expected, losses, 2e-6);
  }

  private static GraphVariable wave(VariableScope vs, String name, long... dims) {
    return vs.variable(name, Shape.of(dims), Initializers.value(wave(dims)));
  }

  private static Tensor wave(long... dims) {
    float[] v = new float[Math.toIntExact(Shape.of(dims).elements())];
    for (int i = 0; i < v.length; i++) {
      v[i] = (float) Math.sin((i + 1) * .7);
    }
    return Tensor.of(Shape.of(dims), v);
  }
}
