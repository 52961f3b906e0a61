package dev.millrace.ops.math;

import static dev.millrace.ops.GradientCheck.positive;
import static dev.millrace.ops.GradientCheck.random;

import dev.millrace.graph.Op;
import dev.millrace.ops.GradientCheck;
import dev.millrace.ops.array.Const;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class MathGradientTest {
  private static final Shape S = Shape.of(2, 3);

  static Stream<Op> differentiable() {
    return Stream.of(Unary.ALL, UnaryGrad.ALL, Arithmetic.ALL)
        .flatMap(List::stream)
        .filter(MathGradientTest::hasGradient);
  }

  private static boolean hasGradient(Op op) {
    return op.gradient() != null && op != Arithmetic.TRUNCATE_MOD && op != Arithmetic.MOD;
  }

  @ParameterizedTest
  @MethodSource("differentiable")
  void elementwiseGradientsAgreeWithFiniteDifferences(Op op) {
    Tensor x = positive(S, 1);
    Tensor y = positive(S, 2);
    GradientCheck.Function f = (s, in) -> s.node(op.name()).input(in.getFirst()).add().output();
    if (op.inputs().size() == 1) {
      if (op.name().equals("Acosh")) {
        aboveOne(x);
      }
      GradientCheck.check(f, x);
      return;
    }
    GradientCheck.Function two =
        (s, in) -> s.node(op.name()).input(in.get(0)).input(in.get(1)).add().output();
    GradientCheck.check(two, x, y);
  }

  /** Where Acosh has values. */
  private static void aboveOne(Tensor x) {
    for (long i = 0; i < x.elements(); i++) {
      x.setDouble(i, x.doubleAt(i) + 1.1);
    }
  }

  static Stream<Op> broadcasting() {
    return Arithmetic.ALL.stream().filter(MathGradientTest::hasGradient);
  }

  @ParameterizedTest
  @MethodSource("broadcasting")
  void gradientsAreSummedOverWhatWasRepeated(Op op) {
    GradientCheck.Function f =
        (s, in) -> s.node(op.name()).input(in.get(0)).input(in.get(1)).add().output();
    GradientCheck.check(f, positive(Shape.of(2, 1, 3), 1), positive(Shape.of(2, 1), 2));
    GradientCheck.check(f, positive(Shape.scalar(), 1), positive(Shape.of(3), 2));
    GradientCheck.check(f, positive(Shape.of(1, 3), 1), positive(Shape.of(2, 3), 2));
  }

  @Test
  void powerOfNegativeBaseSendsNothingToTheExponent() {
    GradientCheck.check(
        (s, in) -> Arithmetic.pow(s, in.getFirst(), Const.of(s, DType.DOUBLE, 2)), random(S, 3));
  }

  @Test
  void matrixProducts() {
    for (boolean ta : new boolean[] {false, true}) {
      for (boolean tb : new boolean[] {false, true}) {
        GradientCheck.check(
            (s, in) -> MatMul.of(s, in.get(0), in.get(1), ta, tb),
            random(ta ? Shape.of(4, 2) : Shape.of(2, 4), 1),
            random(tb ? Shape.of(3, 4) : Shape.of(4, 3), 2));
        GradientCheck.check(
            (s, in) -> BatchMatMul.of(s, in.get(0), in.get(1), ta, tb),
            random(ta ? Shape.of(2, 1, 4, 2) : Shape.of(2, 1, 2, 4), 1),
            random(tb ? Shape.of(3, 3, 4) : Shape.of(3, 4, 3), 2));
      }
    }
  }

  static Stream<Op> reductions() {
    return Reduction.ALL.stream().filter(op -> op.gradient() != null);
  }

  @ParameterizedTest
  @MethodSource("reductions")
  void reductionsSendTheirGradientToEachElement(Op op) {
    for (boolean keep : new boolean[] {false, true}) {
      for (int[] axes : new int[][] {{}, {0}, {1}, {-1}, {0, 2}, {0, 1, 2}}) {
        GradientCheck.Function f =
            (s, in) ->
                Reduction.of(
                    s,
                    s.graph().registry().get(op.name(), ""),
                    in.getFirst(),
                    Const.ints(s, axes),
                    keep);
        Tensor x = random(Shape.of(2, 3, 2), 5);
        if (op == Reduction.PROD) {
          x.setDouble(3, 0);
          GradientCheck.checkKnownRank(f, x);
        } else {
          GradientCheck.check(f, x);
        }
      }
    }
  }

  @Test
  void sumsAndLimits() {
    Tensor x = random(S, 1);
    GradientCheck.check((s, in) -> AddN.of(s, in), x, random(S, 2), random(S, 3));
    GradientCheck.check((s, in) -> L2Loss.of(s, in.getFirst()), x);
    GradientCheck.check(
        (s, in) -> ClipByValue.of(s, in.get(0), in.get(1), in.get(2)),
        x,
        Tensor.scalar(-0.5),
        Tensor.scalar(0.4));
    GradientCheck.check(
        (s, in) -> Cast.of(s, Cast.of(s, in.getFirst(), DType.DOUBLE), DType.DOUBLE), x);
  }

  @Test
  void runningSumsAndProducts() {
    for (boolean exclusive : new boolean[] {false, true}) {
      for (boolean reverse : new boolean[] {false, true}) {
        for (int axis : new int[] {0, 1, -2}) {
          GradientCheck.check(
              (s, in) -> Cumulative.sum(s, in.getFirst(), axis, exclusive, reverse), random(S, 1));
          GradientCheck.check(
              (s, in) -> Cumulative.prod(s, in.getFirst(), axis, exclusive, reverse), random(S, 1));
        }
      }
    }
  }
}
