package dev.millrace.train.layers;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.math.Reduction;
import dev.millrace.ops.math.Unary;
import dev.millrace.ops.nn.Activations;
import dev.millrace.ops.nn.CrossEntropy;

/**
 * What training minimises: the mean over a batch of how wrong each example is. Labels have the type
 * and the shape of the logits or predictions, except class indices.
 */
public final class Losses {
  private Losses() {}

  /** Mean cross entropy of softmax of {@code logits} with a class index per row. */
  public static Output sparseSoftmaxCrossEntropy(Scope scope, Output logits, Output labels) {
    Scope s = scope.withSubScope("sparse_softmax_cross_entropy_loss");
    return Reduction.meanAll(s, CrossEntropy.sparse(s.withName("xentropy"), logits, labels));
  }

  /** Mean cross entropy of softmax of {@code logits} with a distribution per row. */
  public static Output softmaxCrossEntropy(Scope scope, Output logits, Output labels) {
    Scope s = scope.withSubScope("softmax_cross_entropy_loss");
    return Reduction.meanAll(s, CrossEntropy.of(s.withName("xentropy"), logits, labels));
  }

  /**
   * Mean cross entropy of the sigmoid of {@code logits} with labels from 0 to 1: the log loss of
   * independent yes-or-no answers.
   */
  public static Output sigmoidCrossEntropy(Scope scope, Output logits, Output labels) {
    checkShapes("Sigmoid cross entropy", logits, labels);
    Scope s = scope.withSubScope("sigmoid_cross_entropy_loss");
    return Reduction.meanAll(s, crossEntropies(s, logits, labels));
  }

  /**
   * Mean focal loss of yes-or-no answers: the cross entropy of each example times the probability
   * given to the wrong answer to the power {@code gamma}. Examples that are already right count
   * little; {@code gamma} of 0 gives {@link #sigmoidCrossEntropy}.
   */
  public static Output sigmoidFocal(Scope scope, Output logits, Output labels, double gamma) {
    checkShapes("Focal loss", logits, labels);
    Scope s = scope.withSubScope("sigmoid_focal_loss");
    return Reduction.meanAll(s, focal(s, logits, labels, gamma));
  }

  /**
   * The focal loss with positive examples weighted by {@code alpha} and negative ones by {@code 1 -
   * alpha}.
   */
  public static Output sigmoidFocal(
      Scope scope, Output logits, Output labels, double gamma, double alpha) {
    if (!(alpha >= 0 && alpha <= 1)) {
      throw MillraceException.invalid(
          "Focal loss: alpha is the weight of positive examples, from 0 to 1; %s was given.",
          alpha);
    }
    checkShapes("Focal loss", logits, labels);
    Scope s = scope.withSubScope("sigmoid_focal_loss");
    Output weights = mixed(s, labels, Const.of(s, logits.dtype(), alpha));
    return Reduction.meanAll(s, Arithmetic.mul(s, weights, focal(s, logits, labels, gamma)));
  }

  /** Mean hinge loss of {@code logits} with labels 0 and 1: zero from a margin of 1 on. */
  public static Output hinge(Scope scope, Output logits, Output labels) {
    checkShapes("Hinge loss", logits, labels);
    Scope s = scope.withSubScope("hinge_loss");
    Output one = Const.of(s, logits.dtype(), 1);
    Output signs = Arithmetic.sub(s, Arithmetic.scaled(s, labels, 2), one);
    Output margin = Arithmetic.sub(s, one, Arithmetic.mul(s, signs, logits));
    return Reduction.meanAll(s, Activations.relu(s, margin));
  }

  /** Mean over all elements of the squared difference. */
  public static Output meanSquaredError(Scope scope, Output predictions, Output targets) {
    checkShapes("Mean squared error", predictions, targets);
    Scope s = scope.withSubScope("mean_squared_error");
    return Reduction.meanAll(s, Arithmetic.squaredDifference(s, predictions, targets));
  }

  /** Mean over all elements of the absolute difference. */
  public static Output meanAbsoluteError(Scope scope, Output predictions, Output targets) {
    checkShapes("Mean absolute error", predictions, targets);
    Scope s = scope.withSubScope("mean_absolute_error");
    return Reduction.meanAll(s, distance(s, predictions, targets));
  }

  /**
   * Mean Huber loss: half the squared difference up to a difference of {@code delta}, and linear in
   * it beyond, so that outliers pull less.
   */
  public static Output huber(Scope scope, Output predictions, Output targets, double delta) {
    if (!(delta > 0)) {
      throw MillraceException.invalid("Huber loss: delta must be above 0; %s was given.", delta);
    }
    checkShapes("Huber loss", predictions, targets);
    Scope s = scope.withSubScope("huber_loss");
    Output distance = distance(s, predictions, targets);
    Output near = Arithmetic.minimum(s, distance, Const.of(s, predictions.dtype(), delta));
    Output squares = Arithmetic.scaled(s, Unary.square(s, near), .5);
    Output beyond = Arithmetic.scaled(s, Arithmetic.sub(s, distance, near), delta);
    return Reduction.meanAll(s, Arithmetic.add(s, squares, beyond));
  }

  private static Output distance(Scope s, Output predictions, Output targets) {
    return Unary.of(s, Unary.ABS, Arithmetic.sub(s, predictions, targets));
  }

  /**
   * Cross entropy per element, {@code z softplus(-x) + (1 - z) softplus(x)}: no large numbers
   * cancel, and the gradient is right at 0.
   */
  private static Output crossEntropies(Scope s, Output logits, Output labels) {
    Output ifTrue = Activations.softplus(s, Unary.neg(s, logits));
    Output ifFalse = Activations.softplus(s, logits);
    Output no = Arithmetic.sub(s, Const.of(s, logits.dtype(), 1), labels);
    return Arithmetic.add(s, Arithmetic.mul(s, labels, ifTrue), Arithmetic.mul(s, no, ifFalse));
  }

  private static Output focal(Scope s, Output logits, Output labels, double gamma) {
    if (!(gamma >= 0)) {
      throw MillraceException.invalid("Focal loss: gamma must be at least 0; %s was given.", gamma);
    }
    Output wrong = mixed(s, labels, Unary.sigmoid(s, Unary.neg(s, logits)));
    Output factor = Arithmetic.pow(s, wrong, Const.of(s, logits.dtype(), gamma));
    return Arithmetic.mul(s, factor, crossEntropies(s, logits, labels));
  }

  /** {@code p} where the label is 1, {@code 1 - p} where it is 0, and in proportion between. */
  private static Output mixed(Scope s, Output labels, Output p) {
    Output one = Const.of(s, labels.dtype(), 1);
    Output no = Arithmetic.sub(s, one, labels);
    return Arithmetic.add(
        s, Arithmetic.mul(s, labels, p), Arithmetic.mul(s, no, Arithmetic.sub(s, one, p)));
  }

  /** Refuses shapes that would broadcast: a column against a vector would compare all with all. */
  private static void checkShapes(String loss, Output x, Output y) {
    if (!x.shape().isCompatibleWith(y.shape())) {
      throw MillraceException.invalid(
          "%s: '%s' has shape %s and '%s' has shape %s; they must be the same. Reshape or squeeze"
              + " one of them.",
          loss, x.name(), x.shape(), y.name(), y.shape());
    }
  }
}
