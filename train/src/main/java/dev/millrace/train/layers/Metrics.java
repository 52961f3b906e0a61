package dev.millrace.train.layers;

import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.math.Cast;
import dev.millrace.ops.math.Comparisons;
import dev.millrace.ops.math.Reduction;
import dev.millrace.tensor.DType;

/** How good a model is, in terms people understand. */
public final class Metrics {
  private Metrics() {}

  /** The share of rows of {@code logits} whose largest element is at the row's label. */
  public static Output accuracy(Scope scope, Output logits, Output labels) {
    Scope s = scope.withSubScope("accuracy");
    Output best =
        s.node("ArgMax")
            .input(logits)
            .input(Const.of(s.withName("ArgMax/dimension"), 1))
            .attr("output_type", labels.dtype())
            .add()
            .output();
    Output hit = Comparisons.equal(s, best, labels);
    return Reduction.meanAll(s, Cast.of(s, hit, DType.FLOAT));
  }
}
