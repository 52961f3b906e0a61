package dev.millrace.ops.random;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.graph.NodeBuilder;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.Evaluator;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import org.junit.jupiter.api.Test;

/** The numbers TensorFlow 2.21 draws for the seed [3, 5]. */
class StatelessRandomV2Test {
  private final Scope scope = Scope.of(StandardOps.newGraph());
  private final Output seed = Const.of(scope, Tensor.vector(3L, 5L));
  private final Node key = scope.node("StatelessRandomGetKeyCounter").input(seed).add();

  private NodeBuilder keyed(String op, int algorithm) {
    return scope
        .node(op)
        .input(Const.of(scope, Tensor.vector(5)))
        .input(key.output(0))
        .input(key.output(1))
        .input(Const.of(scope, algorithm));
  }

  @Test
  void aSeedIsMixedIntoKeyAndCounter() {
    assertEquals(4551124392215935721L, Evaluator.run(key.output(0)).longAt(0));
    assertArrayEquals(
        new long[] {0, Long.parseUnsignedLong("13892792660983712975")},
        Evaluator.run(key.output(1)).toLongs());
  }

  @Test
  void numbersAreTensorFlows() {
    assertArrayEquals(
        new float[] {
          0.30866754055023193f,
          0.0959700345993042f,
          0.37037038803100586f,
          0.39366352558135986f,
          0.8883836269378662f
        },
        Evaluator.run(keyed("StatelessRandomUniformV2", 1).add().output()).toFloats());
    assertArrayEquals(
        new long[] {57, 172, 442, 777, 182},
        Evaluator.run(
                keyed("StatelessRandomUniformIntV2", 1)
                    .input(Const.of(scope, Tensor.scalar(-10L)))
                    .input(Const.of(scope, Tensor.scalar(1000L)))
                    .add()
                    .output())
            .toLongs());
    assertArrayEquals(
        new int[] {-1045986709, 1091324095, 145713228, -1942854767, -1225673074},
        Evaluator.run(
                keyed("StatelessRandomUniformFullIntV2", 3)
                    .attr("dtype", DType.INT32)
                    .add()
                    .output())
            .toInts());
    Node classes =
        scope
            .node("StatelessMultinomial")
            .input(Const.of(scope, Tensor.of(Shape.of(1, 3), 0f, 1f, 2f)))
            .input(Const.of(scope, 8))
            .input(seed)
            .add();
    assertArrayEquals(
        new long[] {2, 2, 1, 2, 2, 2, 2, 2}, Evaluator.run(classes.output()).toLongs());
  }

  @Test
  void otherGeneratorsAreRefused() {
    Node threefry = keyed("StatelessRandomUniformV2", 2).add();
    assertThrows(MillraceException.class, () -> Evaluator.run(threefry.output()));
  }
}
