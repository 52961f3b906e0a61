package dev.millrace.ops.sparse;

import dev.millrace.graph.Op;
import java.util.List;
import java.util.stream.Stream;

/** The ops of this package. */
public final class SparseOps {
  public static final List<Op> ALL =
      Stream.of(
              SparseSegment.ALL,
              SparseTensorsMap.ALL,
              SparseSerialization.ALL,
              SparsePieces.ALL,
              SparseSum.ALL,
              SparseCross.ALL,
              SetOperations.ALL,
              List.of(
                  SetSize.OP,
                  SparseReorder.OP,
                  SparseTensorDenseMatMul.OP,
                  SparseReshape.OP,
                  SparseFillEmptyRows.OP,
                  SparseFillEmptyRows.GRAD))
          .flatMap(List::stream)
          .toList();

  private SparseOps() {}
}
