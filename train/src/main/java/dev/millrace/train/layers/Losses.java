package dev.millrace.train.layers;

import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.nn.CrossEntropy;

/** What training minimises: the mean over a batch of how wrong each example is. */
public final class Losses {
  private Losses() {}

  /** Mean cross entropy of softmax of {@code logits} with a class index per row. */
  public static Output sparseSoftmaxCrossEntropy(Scope scope, Output logits, Output labels) {
    Scope s = scope.withSubScope("sparse_softmax_cross_entropy_loss");
    return mean(s, CrossEntropy.sparse(s.withName("xentropy"), logits, labels));
  }

  /** Mean cross entropy of softmax of {@code logits} with a distribution per row. */
  public static Output softmaxCrossEntropy(Scope scope, Output logits, Output labels) {
    Scope s = scope.withSubScope("softmax_cross_entropy_loss");
    return mean(s, CrossEntropy.of(s.withName("xentropy"), logits, labels));
  }

  /** Mean over all elements of the squared difference. */
  public static Output meanSquaredError(Scope scope, Output predictions, Output targets) {
    Scope s = scope.withSubScope("mean_squared_error");
    return mean(s, s.node("SquaredDifference").input(predictions).input(targets).add().output());
  }

  /** The mean of all elements of {@code x}. */
  public static Output mean(Scope scope, Output x) {
    return scope.withName("Mean").node("Mean").input(x).input(allAxes(scope, x)).add().output();
  }

  private static Output allAxes(Scope scope, Output x) {
    if (!x.shape().hasRank()) {
      Output rank = scope.node("Rank").input(x).add().output();
      return scope
          .node("Range")
          .input(Const.of(scope, 0))
          .input(rank)
          .input(Const.of(scope, 1))
          .add()
          .output();
    }
    int[] axes = new int[x.shape().rank()];
    for (int i = 0; i < axes.length; i++) {
      axes[i] = i;
    }
    return Const.ints(scope, axes);
  }
}
