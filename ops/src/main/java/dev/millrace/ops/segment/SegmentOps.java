package dev.millrace.ops.segment;

import dev.millrace.graph.Op;
import java.util.List;

/** The ops of this package. */
public final class SegmentOps {
  public static final List<Op> ALL =
      List.of(
          SortedSegments.MAX,
          SortedSegments.MEAN,
          SortedSegments.MIN,
          SortedSegments.PROD,
          UnsortedSegments.MAX,
          UnsortedSegments.MIN,
          UnsortedSegments.PROD);

  private SegmentOps() {}
}
