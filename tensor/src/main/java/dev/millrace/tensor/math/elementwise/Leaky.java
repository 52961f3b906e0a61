package dev.millrace.tensor.math.elementwise;

import static dev.millrace.tensor.math.elementwise.Formula.X;
import static dev.millrace.tensor.math.elementwise.Formula.Y;
import static dev.millrace.tensor.math.elementwise.Formula.choose;
import static dev.millrace.tensor.math.elementwise.Formula.parameter;

import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.lanes.LaneType;

/** The leaky rectifier: {@code x} above zero, {@code slope * x} below. May work in place. */
public final class Leaky {
  private static final Recipe FORWARD =
      Recipe.map(1, choose(X.is(Formula.Relation.GT, 0), X, X.times(parameter(0))));
  private static final Recipe BACKWARD =
      Recipe.map(2, choose(Y.is(Formula.Relation.GT, 0), X, X.times(parameter(0))));

  private Leaky() {}

  /** {@code y} of {@code x}. */
  public static void apply(Tensor x, double slope, Tensor y) {
    run(FORWARD, slope, x, y);
  }

  /** The gradient of x, given that of y and x. */
  public static void gradient(Tensor dy, Tensor x, double slope, Tensor dx) {
    run(BACKWARD, slope, dy, x, dx);
  }

  private static void run(Recipe recipe, double slope, Tensor... operands) {
    Tensor out = operands[operands.length - 1];
    LaneType lane = LaneType.of(out.dtype());
    if (lane != null) {
      Walk.run(out.shape(), recipe, lane, new double[] {slope}, operands);
      return;
    }
    Tensor[] wide = new Tensor[operands.length];
    try {
      for (int i = 0; i < wide.length; i++) {
        wide[i] = Refs.allocate(LaneType.computedAs(out.dtype()), out.shape());
        if (i < wide.length - 1) {
          ElementCast.run(operands[i], wide[i]);
        }
      }
      // The slope is rounded to the tensors' type first, as in TensorFlow.
      Tensor narrow = Tensor.allocate(out.dtype(), Shape.scalar());
      narrow.setDouble(0, slope);
      run(recipe, narrow.doubleAt(0), wide);
      ElementCast.run(wide[wide.length - 1], out);
    } finally {
      for (Tensor t : wide) {
        if (t != null) {
          Refs.release(t);
        }
      }
    }
  }
}
