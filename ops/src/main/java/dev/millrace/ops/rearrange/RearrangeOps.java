package dev.millrace.ops.rearrange;

import dev.millrace.graph.Op;
import java.util.List;
import java.util.stream.Stream;

/** The ops of this package. */
public final class RearrangeOps {
  public static final List<Op> ALL =
      Stream.of(
              DataFormat.ALL,
              MirrorPad.ALL,
              SequenceOrder.ALL,
              UniqueRows.ALL,
              SortedSearch.ALL,
              List.of(Counts.OP, Counts.DENSE),
              ConcatLists.ALL)
          .flatMap(List::stream)
          .toList();

  private RearrangeOps() {}
}
