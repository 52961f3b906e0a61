package dev.millrace.ops.nn;

import static dev.millrace.ops.GradientCheck.check;
import static dev.millrace.ops.GradientCheck.checkKnownRank;
import static dev.millrace.ops.GradientCheck.random;

import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Const;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class NnGradientTest {
  private static Output add(Scope s, Op op, List<Output> x) {
    return s.add(op, x.toArray(Output[]::new)).output(0);
  }

  static Stream<Op> activations() {
    return Stream.of(
        Activations.RELU,
        Activations.RELU6,
        Activations.ELU,
        Activations.SELU,
        Activations.SOFTPLUS,
        Activations.SOFTSIGN,
        SoftmaxOps.SOFTMAX,
        SoftmaxOps.LOG_SOFTMAX);
  }

  @ParameterizedTest
  @MethodSource("activations")
  void activation(Op op) {
    check((s, x) -> add(s, op, x), random(Shape.of(3, 5), 1));
  }

  static Stream<Op> gradientsOfActivations() {
    return Stream.of(Activations.ELU_GRAD, Activations.SELU_GRAD, Activations.SOFTPLUS_GRAD);
  }

  @ParameterizedTest
  @MethodSource("gradientsOfActivations")
  void gradientOfActivation(Op op) {
    check((s, x) -> add(s, op, x), random(Shape.of(3, 5), 1), random(Shape.of(3, 5), 2));
  }

  /** In the features it is flat, but for single points. */
  @Test
  void gradientOfReluIsLinearInTheGradient() {
    for (Op op : List.of(Activations.RELU_GRAD, Activations.RELU6_GRAD)) {
      Tensor features = random(Shape.of(3, 5), 2);
      check(
          (s, x) -> s.add(op, x.get(0), Const.of(s, features)).output(), random(Shape.of(3, 5), 1));
    }
  }

  @Test
  void bias() {
    Tensor b = random(Shape.of(3), 2);
    checkKnownRank((s, x) -> BiasAdd.of(s, x.get(0), x.get(1)), random(Shape.of(2, 4, 3), 1), b);
    checkKnownRank(
        (s, x) -> BiasAdd.of(s, x.get(0), x.get(1), "NCHW"), random(Shape.of(2, 3, 2), 1), b);
    check((s, x) -> add(s, BiasAdd.GRAD, x), random(Shape.of(4, 3), 1));
  }

  @Test
  void crossEntropyByBothInputs() {
    // Its gradient takes for granted that a row of labels adds up to 1.
    check(
        (s, x) -> CrossEntropy.of(s, x.get(0), SoftmaxOps.softmax(s, x.get(1))),
        random(Shape.of(3, 4), 1),
        random(Shape.of(3, 4), 2));
  }

  @Test
  void sparseCrossEntropy() {
    check(
        (s, x) -> CrossEntropy.sparse(s, x.get(0), Const.ints(s, 2, 0, 3)),
        random(Shape.of(3, 4), 1));
  }

  @Test
  void backpropOfCrossEntropyHasAGradientToo() {
    check(
        (s, x) -> s.add(CrossEntropy.SPARSE, x.get(0), Const.ints(s, 2, 0, 3)).output(1),
        random(Shape.of(3, 4), 1));
  }
}
