package dev.millrace.ops.summary;

import dev.millrace.graph.Op;
import java.util.List;
import java.util.stream.Stream;

/** The ops of this package. */
public final class SummaryOps {
  public static final List<Op> ALL =
      Stream.of(
              List.of(ScalarSummary.OP, HistogramSummary.OP, ImageSummary.OP, MergeSummary.OP),
              AudioSummary.ALL,
              TensorSummary.ALL)
          .flatMap(List::stream)
          .toList();

  private SummaryOps() {}
}
