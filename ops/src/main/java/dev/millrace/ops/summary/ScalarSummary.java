package dev.millrace.ops.summary;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Const;
import dev.millrace.proto.Summary;
import dev.millrace.tensor.Tensor;

/** Numbers under tags, one for each. */
public final class ScalarSummary {
  public static final Op OP =
      Summaries.define(
              Op.define("ScalarSummary")
                  .attr("T: realnumbertype")
                  .input("tags: string")
                  .input("values: T"))
          .kernel(ScalarSummary::compute)
          .build();

  private ScalarSummary() {}

  /** Adds a summary of a scalar. */
  public static Output of(Scope scope, String tag, Output value) {
    return scope.add(OP, Const.of(scope, tag), value).output();
  }

  private static void compute(KernelContext c) {
    Tensor tags = c.input(0);
    Tensor values = c.input(1);
    boolean single = Summaries.isSingle(tags.shape()) && Summaries.isSingle(values.shape());
    if (!single && !tags.shape().equals(values.shape())) {
      throw MillraceException.invalid(
          "ScalarSummary '%s': tags and values are not the same shape: %s != %s%s",
          c.node().name(),
          tags.shape(),
          values.shape(),
          tags.elements() > 0 ? " (tag '" + tags.stringAt(0) + "')" : "");
    }
    Summary.Builder summary = Summary.newBuilder();
    for (long i = 0; i < tags.elements(); i++) {
      summary.addValueBuilder().setTag(tags.stringAt(i)).setSimpleValue((float) values.doubleAt(i));
    }
    Summaries.deliver(c, summary);
  }
}
