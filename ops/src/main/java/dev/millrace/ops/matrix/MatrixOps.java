package dev.millrace.ops.matrix;

import dev.millrace.graph.Op;
import java.util.List;
import java.util.stream.Stream;

/** The ops of this package. */
public final class MatrixOps {
  public static final List<Op> ALL =
      Stream.of(MatrixDiag.ALL, List.of(Diag.OP, Diag.PART)).flatMap(List::stream).toList();

  private MatrixOps() {}
}
