package dev.millrace.ops.scatter;

import dev.millrace.graph.Op;
import java.util.List;
import java.util.stream.Stream;

/** The ops of this package. */
public final class ScatterOps {
  public static final List<Op> ALL =
      Stream.of(TensorScatter.ALL, VariableScatterNd.ALL, List.of(ResourceGatherNd.OP))
          .flatMap(List::stream)
          .toList();

  private ScatterOps() {}
}
