package dev.millrace.train.layers;

import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.math.Reduction;
import dev.millrace.ops.nn.CrossEntropy;

/** What training minimises: the mean over a batch of how wrong each example is. */
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

  /** Mean over all elements of the squared difference. */
  public static Output meanSquaredError(Scope scope, Output predictions, Output targets) {
    Scope s = scope.withSubScope("mean_squared_error");
    return Reduction.meanAll(s, Arithmetic.squaredDifference(s, predictions, targets));
  }
}
