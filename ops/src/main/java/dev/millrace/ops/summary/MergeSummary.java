package dev.millrace.ops.summary;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.proto.Summary;
import dev.millrace.tensor.Tensor;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** All values of several summaries in one; a tag may stand in one of them only. */
public final class MergeSummary {
  public static final Op OP =
      Summaries.define(Op.define("MergeSummary").attr("N: int >= 1").input("inputs: N * string"))
          .kernel(MergeSummary::compute)
          .build();

  private MergeSummary() {}

  /** Adds a merger of {@code summaries}. */
  public static Output of(Scope scope, List<Output> summaries) {
    return scope.node(OP).inputs(summaries).add().output();
  }

  private static void compute(KernelContext c) {
    Summary.Builder all = Summary.newBuilder();
    Set<String> tags = new HashSet<>();
    for (int i = 0; i < c.inputCount(); i++) {
      Tensor t = c.input(i);
      for (long k = 0; k < t.elements(); k++) {
        for (Summary.Value v : parse(c, t.bytesAt(k)).getValueList()) {
          // Values without a tag are told apart by their node's name.
          if (!v.getTag().isEmpty() && !tags.add(v.getTag())) {
            throw MillraceException.invalid(
                "MergeSummary '%s': Duplicate tag %s found in summary inputs.",
                c.node().name(), v.getTag());
          }
          all.addValue(v);
        }
      }
    }
    Summaries.deliver(c, all);
  }

  private static Summary parse(KernelContext c, byte[] bytes) {
    try {
      return Summary.parseFrom(bytes);
    } catch (InvalidProtocolBufferException e) {
      throw MillraceException.invalid(
          "MergeSummary '%s': Could not parse one of the summary inputs: %s",
          c.node().name(), e.getMessage());
    }
  }
}
