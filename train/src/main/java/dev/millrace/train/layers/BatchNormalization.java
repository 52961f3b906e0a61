package dev.millrace.train.layers;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Reshape;
import dev.millrace.ops.array.ShapeOf;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.graph.GraphKeys;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Initializers;
import dev.millrace.train.variable.VariableScope;

/**
 * Brings each channel to mean {@code beta} and deviation {@code gamma}: in training by the mean and
 * variance of the batch, else by their moving averages, {@code name/moving_mean} and {@code
 * name/moving_variance}. Training adds the ops that update these to the graph's {@link
 * GraphKeys#UPDATE_OPS}; they are to be run with each step.
 *
 * @param momentum how much of the moving averages each step keeps
 * @param epsilon added to the variance
 */
public record BatchNormalization(float momentum, float epsilon) {
  public static final BatchNormalization DEFAULT = new BatchNormalization(.99f, .001f);

  /** Adds the layer over {@code x}, whose last dimension is channels. */
  public Output of(VariableScope model, String name, Output x, boolean training) {
    long channels = x.shape().dim(x.shape().rank() - 1);
    if (x.shape().rank() < 2 || channels < 0 || x.dtype() != DType.FLOAT) {
      throw MillraceException.invalid(
          "Batch normalization '%s': the input '%s' is %s%s; it needs to be float with a rank of at"
              + " least 2 and known channels, its last dimension.",
          name, x.name(), x.dtype(), x.shape());
    }
    VariableScope vs = model.withSubScope(name);
    Scope s = vs.scope();
    Shape c = Shape.of(channels);
    GraphVariable gamma = vs.variable("gamma", c, Initializers.ones());
    GraphVariable beta = vs.variable("beta", c, Initializers.zeros());
    VariableScope moving = vs.withTrainable(false);
    GraphVariable mean = moving.variable("moving_mean", c, Initializers.zeros());
    GraphVariable variance = moving.variable("moving_variance", c, Initializers.ones());
    boolean image = x.shape().rank() == 4;
    Output in = image ? x : Reshape.of(s, x, Const.ints(s, -1, 1, 1, (int) channels));
    Node norm =
        s.node("FusedBatchNormV3")
            .input(in)
            .input(gamma.read())
            .input(beta.read())
            .input(training ? empty(s) : mean.read())
            .input(training ? empty(s) : variance.read())
            .attr("epsilon", epsilon)
            .attr("is_training", training)
            .add();
    if (training) {
      update(s, mean, norm.output(1));
      update(s, variance, norm.output(2));
    }
    Output y = norm.output(0);
    return image ? y : Reshape.of(s, y, ShapeOf.known(s, x));
  }

  private static Output empty(Scope s) {
    return Const.of(s, Tensor.vector(new float[0]));
  }

  /** {@code average -= (average - value) * (1 - momentum)}. */
  private void update(Scope scope, GraphVariable average, Output value) {
    Scope s = scope.withSubScope("AssignMovingAvg").colocatedWith(average.node());
    Output apart = Arithmetic.sub(s.withName("sub"), average.read(), value);
    Output share = Const.of(s.withName("decay"), 1 - momentum);
    Output change = Arithmetic.mul(s.withName("mul"), apart, share);
    Node update = average.assignSub(s.asNode(), change);
    s.graph().collection(GraphKeys.UPDATE_OPS).add(update);
  }
}
