package dev.millrace.interop.conformance.cases;

import dev.millrace.base.Code;
import dev.millrace.interop.conformance.CaseTable;
import dev.millrace.interop.conformance.Kernels;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;

/** Blocks of spatial dimensions moved into the batch or the depth, and back. */
public final class SpaceCases extends CaseTable {
  public SpaceCases() {
    depth();
    batches();
    images();
  }

  private void depth() {
    for (DType dtype : Kernels.types("DepthToSpace", "T")) {
      op("DepthToSpace", any(dtype, 2, 3, 2, 12)).with("block_size", 2);
      op("SpaceToDepth", any(dtype, 2, 4, 6, 3)).with("block_size", 2);
    }
    op("DepthToSpace", doubles(1, 2, 1, 9)).with("block_size", 3);
    op("SpaceToDepth", doubles(1, 6, 3, 2)).with("block_size", 3);
    op("DepthToSpace", floats(2, 3, 2, 6)).with("block_size", 2).fails(Code.INVALID_ARGUMENT);
    op("DepthToSpace", floats(3, 2, 4)).with("block_size", 2).fails(Code.INVALID_ARGUMENT);
    op("SpaceToDepth", floats(1, 3, 2, 1)).with("block_size", 2).fails(Code.INVALID_ARGUMENT);
    op("SpaceToDepth", floats(1, 2, 3, 1)).with("block_size", 2).fails(Code.INVALID_ARGUMENT);
  }

  private void batches() {
    Tensor two = ints(2, 2);
    Tensor none = rows(0, 0, 0, 0);
    for (DType dtype : Kernels.types("SpaceToBatchND", "T")) {
      op("SpaceToBatchND", any(dtype, 2, 4, 6, 3), two, none).fixed(1, 2);
      op("BatchToSpaceND", any(dtype, 8, 2, 3, 3), two, none).fixed(1, 2);
    }
    op("SpaceToBatchND", doubles(1, 3, 4, 2), ints(2, 3), rows(1, 0, 2, 3)).fixed(1, 2);
    op("SpaceToBatchND", doubles(1, 3, 4, 2), ints(2, 3), rows(1, 2, 5, 0)).fixed(1, 2);
    op("SpaceToBatchND", doubles(2, 5), ints(4), rows(0, 3)).fixed(1, 2);
    op("SpaceToBatchND", floats(2, 5, 3), longs(1), Tensor.of(Shape.of(1, 2), 2L, 0L)).fixed(1, 2);
    op("SpaceToBatchND", floats(2, 4, 2, 4, 3), ints(2, 1, 2), rows(1, 1, 0, 0, 0, 0)).fixed(1, 2);
    op("BatchToSpaceND", doubles(6, 2, 3, 2), ints(2, 3), rows(1, 0, 2, 3)).fixed(1, 2);
    op("BatchToSpaceND", doubles(6, 2, 3, 2), ints(2, 3), rows(1, 2, 5, 0)).fixed(1, 2);
    op("BatchToSpaceND", doubles(8, 5), ints(4), rows(0, 3)).fixed(1, 2);
    op("BatchToSpaceND", floats(2, 5, 3), longs(1), Tensor.of(Shape.of(1, 2), 2L, 0L)).fixed(1, 2);
    for (String op : new String[] {"SpaceToBatchND", "BatchToSpaceND"}) {
      op(op, floats(4, 3, 4), ints(2), rows(-1, 0)).fails(Code.INVALID_ARGUMENT);
      op(op, floats(4, 4, 4), ints(0), rows(0, 0)).fails(Code.INVALID_ARGUMENT);
      op(op, floats(4, 4), two, none).fails(Code.INVALID_ARGUMENT);
      op(op, floats(4, 4, 4), two, rows(0, 0)).fails(Code.INVALID_ARGUMENT);
    }
    op("SpaceToBatchND", floats(1, 3, 4), two, none).fails(Code.INVALID_ARGUMENT);
    op("BatchToSpaceND", floats(6, 3, 4), two, none).fails(Code.INVALID_ARGUMENT);
    op("BatchToSpaceND", floats(4, 1, 1), two, rows(2, 1, 0, 0)).fails(Code.INVALID_ARGUMENT);
  }

  private void images() {
    Tensor none = rows(0, 0, 0, 0);
    for (DType dtype : Kernels.types("SpaceToBatch", "T")) {
      op("SpaceToBatch", any(dtype, 2, 4, 6, 3), none).fixed(1).with("block_size", 2);
      op("BatchToSpace", any(dtype, 8, 2, 3, 3), none).fixed(1).with("block_size", 2);
    }
    op("SpaceToBatch", doubles(1, 3, 4, 2), rows(1, 2, 2, 0)).fixed(1).with("block_size", 3);
    op("BatchToSpace", doubles(9, 2, 2, 2), rows(1, 2, 2, 0)).fixed(1).with("block_size", 3);
    Tensor more = Tensor.of(Shape.of(2, 2), 1L, 0L, 0L, 2L);
    op("SpaceToBatch", floats(1, 3, 4, 2), more).fixed(1).with("block_size", 2);
    op("BatchToSpace", floats(4, 2, 3, 2), more).fixed(1).with("block_size", 2);
    op("SpaceToBatch", floats(1, 3, 4, 2), none).with("block_size", 2).fails(Code.INVALID_ARGUMENT);
    op("BatchToSpace", floats(6, 3, 4, 2), none).with("block_size", 2).fails(Code.INVALID_ARGUMENT);
    op("BatchToSpace", floats(4, 3, 4), none).with("block_size", 2).fails(Code.INVALID_ARGUMENT);
  }

  /** Pairs of what lies before and after. */
  private static Tensor rows(int... v) {
    return Tensor.of(Shape.of(v.length / 2, 2), v);
  }
}
