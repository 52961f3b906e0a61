package dev.millrace.ops.summary;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Const;
import dev.millrace.proto.Summary;
import dev.millrace.tensor.Tensor;

/** How the values of a tensor are distributed. */
public final class HistogramSummary {
  public static final Op OP =
      Summaries.define(
              Op.define("HistogramSummary")
                  .attr("T: realnumbertype = float")
                  .input("tag: string")
                  .input("values: T"))
          .kernel(HistogramSummary::compute)
          .build();

  private HistogramSummary() {}

  /** Adds a summary of a tensor's values. */
  public static Output of(Scope scope, String tag, Output values) {
    return scope.add(OP, Const.of(scope, tag), values).output();
  }

  private static void compute(KernelContext c) {
    String tag = Summaries.tag(c, 0);
    Tensor values = c.input(1);
    Histogram histogram = new Histogram();
    for (long i = 0; i < values.elements(); i++) {
      double v = values.doubleAt(i);
      if (!Double.isFinite(v)) {
        throw MillraceException.invalid(
            "%s in summary histogram for: %s (element %d of %s)",
            Double.isNaN(v) ? "Nan" : "Infinity", tag, i, values.shape());
      }
      histogram.add(v);
    }
    Summary.Builder summary = Summary.newBuilder();
    summary.addValueBuilder().setTag(tag).setHisto(histogram.toProto());
    Summaries.deliver(c, summary);
  }
}
