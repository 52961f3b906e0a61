package dev.millrace.train.layers;

import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Const;
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
    Output hit = s.node("Equal").input(best).input(labels).add().output();
    Output ones = s.node("Cast").input(hit).attr("DstT", DType.FLOAT).add().output();
    return Losses.mean(s, ones);
  }
}
