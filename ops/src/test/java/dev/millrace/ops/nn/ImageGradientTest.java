package dev.millrace.ops.nn;

import static dev.millrace.ops.GradientCheck.check;
import static dev.millrace.ops.GradientCheck.random;

import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Gradients of ops on images against finite differences. */
class ImageGradientTest {
  private static final Tensor IMAGES = random(Shape.of(2, 5, 4, 2), 1);

  /** How windows move. */
  record Moves(List<Integer> strides, String padding, List<Integer> paddings, List<Integer> gaps) {}

  static Stream<Moves> moves() {
    List<Integer> ones = List.of(1, 1, 1, 1);
    return Stream.of(
        new Moves(ones, "SAME", List.of(), ones),
        new Moves(ones, "VALID", List.of(), ones),
        new Moves(List.of(1, 2, 2, 1), "SAME", List.of(), ones),
        new Moves(List.of(1, 2, 1, 1), "VALID", List.of(), ones),
        new Moves(ones, "EXPLICIT", List.of(0, 0, 1, 2, 0, 1, 0, 0), ones),
        new Moves(ones, "SAME", List.of(), List.of(1, 2, 2, 1)));
  }

  private static Output windowed(Scope s, Op op, Moves m, List<Output> x) {
    var b = s.node(op).input(x.get(0)).input(x.get(1));
    b.attr("strides", m.strides).attr("padding", m.padding).attr("dilations", m.gaps);
    return b.attr("explicit_paddings", m.paddings).add().output();
  }

  @ParameterizedTest
  @MethodSource("moves")
  void convolution(Moves m) {
    check((s, x) -> windowed(s, ConvolutionOps.OP, m, x), IMAGES, random(Shape.of(2, 3, 2, 3), 2));
  }

  @ParameterizedTest
  @MethodSource("moves")
  void depthwiseConvolution(Moves m) {
    check((s, x) -> windowed(s, Depthwise.OP, m, x), IMAGES, random(Shape.of(2, 3, 2, 2), 2));
    check((s, x) -> windowed(s, Depthwise.OP, m, x), IMAGES, random(Shape.of(2, 3, 2, 1), 2));
  }

  @Test
  void pooling() {
    for (String padding : List.of("SAME", "VALID")) {
      check((s, x) -> Pool.max(s, x.getFirst(), 2, 2, padding), IMAGES);
      check((s, x) -> Pool.max(s, x.getFirst(), 3, 1, padding), IMAGES);
      check((s, x) -> Pool.average(s, x.getFirst(), 2, 2, padding), IMAGES);
      check((s, x) -> Pool.average(s, x.getFirst(), 3, 2, padding), IMAGES);
    }
  }

  @Test
  void leakyRelu() {
    check((s, x) -> LeakyRelu.of(s, x.getFirst(), .3f), random(Shape.of(7), 1));
  }
}
