package dev.millrace.ops.dataset;

import dev.millrace.graph.Op;
import java.util.List;
import java.util.stream.Stream;

/** The ops of this package. */
public final class DatasetOps {
  public static final List<Op> ALL =
      Stream.of(
              Sources.ALL,
              Sequences.ALL,
              Batches.ALL,
              MapDatasets.ALL,
              FlatMapped.ALL,
              Shuffle.ALL,
              Cache.ALL,
              List.of(Prefetch.OP),
              FileRecords.ALL,
              Windows.ALL,
              Folded.ALL,
              Passing.ALL,
              Iterators.ALL)
          .flatMap(List::stream)
          .toList();

  private DatasetOps() {}
}
