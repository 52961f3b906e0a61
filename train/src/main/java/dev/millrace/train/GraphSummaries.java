package dev.millrace.train;

import dev.millrace.graph.Graph;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.summary.HistogramSummary;
import dev.millrace.ops.summary.ImageSummary;
import dev.millrace.ops.summary.MergeSummary;
import dev.millrace.ops.summary.ScalarSummary;
import dev.millrace.proto.SummaryMetadata;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.graph.GraphKeys;
import java.util.List;

/**
 * What TensorBoard is to show of a training: each method adds a node that describes a value, and
 * {@link #merged} puts all of them together.
 */
public final class GraphSummaries {
  private GraphSummaries() {}

  /** A number, drawn over the steps. */
  public static Output scalar(Scope scope, String tag, Output value) {
    return collected(ScalarSummary.of(scope.withName(tag), tag, value));
  }

  /** How many elements have which values. */
  public static Output histogram(Scope scope, String tag, Output values) {
    return collected(HistogramSummary.of(scope.withName(tag), tag, values));
  }

  /** Images of shape [n, height, width, channels], the first few. */
  public static Output image(Scope scope, String tag, Output images) {
    return collected(ImageSummary.of(scope.withName(tag), tag, images));
  }

  /** Text, in Markdown. */
  public static Output text(Scope scope, String tag, Output text) {
    byte[] metadata =
        SummaryMetadata.newBuilder()
            .setPluginData(SummaryMetadata.PluginData.newBuilder().setPluginName("text"))
            .build()
            .toByteArray();
    Tensor plugin = Tensor.ofObjects(DType.STRING, Shape.scalar(), new Object[] {metadata});
    return collected(
        scope
            .withName(tag)
            .node("TensorSummaryV2")
            .input(Const.of(scope.withName(tag + "/tag"), tag))
            .input(text)
            .input(Const.of(scope.withName(tag + "/serialized_summary_metadata"), plugin))
            .add()
            .output());
  }

  private static Output collected(Output summary) {
    summary.node().graph().collection(GraphKeys.SUMMARIES).add(summary);
    return summary;
  }

  /** Adds all summaries made so far in one; null if there are none. */
  public static Output merged(Scope scope) {
    Graph graph = scope.graph();
    List<Output> all =
        graph.collection(GraphKeys.SUMMARIES).stream().map(Output.class::cast).toList();
    return all.isEmpty()
        ? null
        : MergeSummary.of(scope.withoutControlInputs().withName("Merge/MergeSummary"), all);
  }
}
