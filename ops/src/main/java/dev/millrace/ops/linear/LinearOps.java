package dev.millrace.ops.linear;

import dev.millrace.graph.Op;
import java.util.List;
import java.util.stream.Stream;

/** The ops of this package. */
public final class LinearOps {
  public static final List<Op> ALL =
      Stream.of(
              List.of(Cholesky.OP, Lu.OP),
              Inverse.ALL,
              Solve.ALL,
              Orthogonal.ALL,
              TridiagonalOps.ALL)
          .flatMap(List::stream)
          .toList();

  private LinearOps() {}
}
