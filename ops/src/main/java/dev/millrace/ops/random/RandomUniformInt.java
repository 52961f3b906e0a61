package dev.millrace.ops.random;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Axis;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.random.RandomFill;
import java.util.List;

/** Integers from {@code minval} (inclusive) to {@code maxval} (exclusive). */
public final class RandomUniformInt {
  public static final Op OP =
      Op.define("RandomUniformInt")
          .attr("seed: int = 0")
          .attr("seed2: int = 0")
          .attr("Tout: {int32, int64}")
          .attr("T: {int32, int64}")
          .input("shape: T")
          .input("minval: Tout")
          .input("maxval: Tout")
          .output("output: Tout")
          .stateful()
          .shape(
              c -> {
                c.inputOfRank(0, 1);
                c.inputOfRank(1, 0);
                c.inputOfRank(2, 0);
                return List.of(c.constantAsShape(0));
              })
          .kernelPerNode(RandomUniformInt::kernel)
          .noGradient("random numbers depend on nothing but the seed")
          .build();

  private RandomUniformInt() {}

  /** Integers of equal chance from {@code min} up to {@code max}, which is not included. */
  public static Output of(
      Scope scope, Output shape, Output min, Output max, long seed, long seed2) {
    return scope
        .node(OP)
        .input(shape)
        .input(min)
        .input(max)
        .attr("seed", seed)
        .attr("seed2", seed2)
        .add()
        .output();
  }

  private static Kernel kernel(Node node) {
    SeededState state = new SeededState(node);
    return c -> {
      Shape s = Axis.shape(c.input(0));
      long low = Axis.single(c.input(1), "minval");
      long high = Axis.single(c.input(2), "maxval");
      Tensor y = c.allocate(0, s);
      if (s.elements() == 0) {
        return;
      }
      if (low >= high) {
        throw MillraceException.invalid("Need minval < maxval, got %d >= %d", low, high);
      }
      RandomFill.uniform(state.take(s.elements() * SeededState.PER_ELEMENT), low, high, y);
    };
  }
}
