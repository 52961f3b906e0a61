package dev.millrace.ops.nn;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Eager;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import org.junit.jupiter.api.Test;

class NnOpsTest {
  private final Scope scope = Scope.of(StandardOps.newGraph());

  private Output floats(Shape s, float... v) {
    return Const.of(scope, Tensor.of(s, v));
  }

  private Tensor[] run(Output out) {
    Tensor[] in =
        out.node().inputs().stream().map(i -> i.node().tensorAttr("value")).toArray(Tensor[]::new);
    Tensor[] result = Eager.run(out.node(), in);
    for (int i = 0; i < result.length; i++) {
      result[i] = Refs.handle(result[i]);
      assertTrue(out.node().output(i).shape().isCompatibleWith(result[i].shape()));
    }
    return result;
  }

  @Test
  void biasIsAddedToTheChannelDimension() {
    Output x = floats(Shape.of(1, 2, 2), 1, 2, 3, 4);
    Output b = floats(Shape.of(2), 10, 20);
    assertArrayEquals(new float[] {11, 22, 13, 24}, run(BiasAdd.of(scope, x, b))[0].toFloats());
    assertArrayEquals(
        new float[] {11, 12, 23, 24}, run(BiasAdd.of(scope, x, b, "NCHW"))[0].toFloats());
  }

  @Test
  void biasOfWrongLengthIsRefusedWhileBuilding() {
    Output x = floats(Shape.of(2, 2), 1, 2, 3, 4);
    MillraceException e =
        assertThrows(
            MillraceException.class, () -> BiasAdd.of(scope, x, floats(Shape.of(3), 1, 2, 3)));
    assertTrue(e.getMessage().contains("as many biases"), e.getMessage());
  }

  @Test
  void biasGradientSumsPerChannel() {
    Output dy = floats(Shape.of(2, 2), 1, 2, 3, 4);
    Output db = scope.add(BiasAdd.GRAD, dy).output();
    assertEquals(Shape.of(2), db.shape());
    assertArrayEquals(new float[] {4, 6}, run(db)[0].toFloats());
  }

  @Test
  void sparseCrossEntropyGivesLossAndGradient() {
    Output logits = floats(Shape.of(2, 2), 0, 0, 1, 3);
    Output labels = Const.of(scope, Tensor.vector(1, 0));
    Tensor[] out = run(CrossEntropy.sparse(scope, logits, labels));
    double p = 1 / (1 + Math.exp(2));
    assertArrayEquals(
        new float[] {(float) Math.log(2), (float) -Math.log(p)}, out[0].toFloats(), 1e-6f);
    assertArrayEquals(
        new float[] {.5f, -.5f, (float) (p - 1), (float) (1 - p)}, out[1].toFloats(), 1e-6f);
  }

  @Test
  void labelOutOfRangeIsRefused() {
    Output logits = floats(Shape.of(1, 2), 0, 0);
    for (int label : new int[] {-1, 2}) {
      Output xent = CrossEntropy.sparse(scope, logits, Const.of(scope, Tensor.vector(label)));
      MillraceException e = assertThrows(MillraceException.class, () -> run(xent));
      assertTrue(e.getMessage().contains("outside the valid range of [0, 2)"), e.getMessage());
    }
  }

  @Test
  void denseCrossEntropyBroadcasts() {
    Output logits = floats(Shape.of(1, 2), 0, 0);
    Output labels = floats(Shape.of(2, 2), 1, 0, .5f, .5f);
    Tensor[] out = run(CrossEntropy.of(scope, logits, labels));
    float half = (float) Math.log(2);
    assertArrayEquals(new float[] {half, half}, out[0].toFloats(), 1e-6f);
    assertArrayEquals(new float[] {-.5f, .5f, 0, 0}, out[1].toFloats(), 1e-6f);
  }

  @Test
  void softmaxOfNothingIsNothing() {
    for (Shape s : new Shape[] {Shape.of(0, 3), Shape.of(3, 0), Shape.of(0)}) {
      Output y = SoftmaxOps.softmax(scope, floats(s));
      assertEquals(s, run(y)[0].shape());
      assertEquals(s, run(SoftmaxOps.logSoftmax(scope, floats(s)))[0].shape());
    }
  }

  @Test
  void activationsTakeScalars() {
    assertEquals(0, run(Activations.relu(scope, floats(Shape.scalar(), -1)))[0].floatValue());
    assertEquals(6, run(Activations.relu6(scope, floats(Shape.scalar(), 9)))[0].floatValue());
  }

  @Test
  void unsupportedTypeIsRefusedWhenTheKernelIsMade() {
    Output x = Placeholder.of(scope, DType.COMPLEX64, Shape.of(2, 2));
    Output b = Placeholder.of(scope, DType.COMPLEX64, Shape.of(2));
    Output y = BiasAdd.of(scope, x, b);
    MillraceException e =
        assertThrows(MillraceException.class, () -> BiasAdd.OP.kernelFor(y.node()));
    assertTrue(e.getMessage().contains("no kernel for complex64"), e.getMessage());
  }

  /** The slope is rounded to the type first: 0.2 is a little less there. */
  @Test
  void leakyReluOfHalvesHasASlopeOfHalves() {
    Tensor x = Tensor.allocate(DType.HALF, Shape.of(2));
    x.setDouble(0, -3);
    x.setDouble(1, -7);
    Tensor y = run(LeakyRelu.of(scope, Const.of(scope, x), 0.2f))[0];
    assertArrayEquals(new double[] {-0.599609375, -1.3994140625}, y.toDoubles());
  }
}
