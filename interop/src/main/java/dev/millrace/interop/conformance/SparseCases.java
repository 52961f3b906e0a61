package dev.millrace.interop.conformance;

import dev.millrace.base.Code;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;

/** Tensors given by coordinates and values, and sums of picked rows. */
public final class SparseCases extends CaseTable {
  SparseCases() {
    reorder();
    reshape();
    fillEmptyRows();
    for (String how : List.of("Sum", "Mean", "SqrtN")) {
      segments("SparseSegment" + how);
      segmentGradients("SparseSegment" + how);
    }
  }

  /** Coordinates, {@code rank} to a value. */
  private static Tensor at(int rank, long... coordinates) {
    return Tensor.of(Shape.of(coordinates.length / rank, rank), coordinates);
  }

  private void reorder() {
    Tensor some = at(2, 3, 2, 0, 1, 1, 3, 0, 0);
    for (DType dtype : List.of(DType.FLOAT, DType.DOUBLE, DType.INT32, DType.STRING, DType.BOOL)) {
      op("SparseReorder", some, any(dtype, 4), longs(4, 5)).fixed(2);
    }
    op("SparseReorder", at(3, 1, 0, 1, 1, 0, 0, 0, 1, 1), floats(3), longs(2, 2, 2)).fixed(2);
    op("SparseReorder", at(2), floats(0), longs(2, 2)).fixed(2).noGradient();
    // What is outside the shape is put in order too.
    op("SparseReorder", some, floats(4), longs(3, 5)).fixed(2);
    op("SparseReorder", some, floats(3), longs(4, 5)).fails(Code.INVALID_ARGUMENT);
    op("SparseReorder", longs(1, 2), floats(2), longs(4)).fails(Code.INVALID_ARGUMENT);
  }

  private void reshape() {
    Tensor some = at(3, 0, 0, 0, 0, 1, 2, 1, 1, 1);
    for (long[] to : List.of(new long[] {12}, new long[] {-1, 4}, new long[] {2, 2, -1, 1})) {
      op("SparseReshape", some, longs(2, 2, 3), longs(to)).fixed(1, 2);
    }
    op("SparseReshape", at(2), longs(0, 3), longs(3, 0)).fixed(1, 2);
    for (long[] to : List.of(new long[] {5, -1}, new long[] {13}, new long[] {-1, -1})) {
      op("SparseReshape", some, longs(2, 2, 3), longs(to)).fails(Code.INVALID_ARGUMENT);
    }
    op("SparseReshape", some, longs(2, 2, 3), longs(-2, 6)).fails(Code.INVALID_ARGUMENT);
    op("SparseReshape", at(2), longs(0, 3), longs(-1, 0)).fails(Code.INVALID_ARGUMENT);
    op("SparseReshape", longs(1, 2), longs(4), longs(2, 2)).fails(Code.INVALID_ARGUMENT);
  }

  private void fillEmptyRows() {
    String op = "SparseFillEmptyRows";
    Tensor some = at(2, 0, 0, 1, 0, 1, 3, 3, 2);
    for (DType dtype : List.of(DType.FLOAT, DType.DOUBLE, DType.INT32, DType.STRING, DType.BOOL)) {
      op(op, some, any(dtype, 4), longs(5, 6), any(dtype)).fixed(2);
    }
    // Rows in any order, none empty, and nothing at all.
    op(op, at(2, 2, 0, 0, 1, 2, 1), floats(3), longs(4, 6), floats()).fixed(2);
    op(op, at(1, 0, 1), floats(2), longs(2), floats()).fixed(2);
    op(op, at(2), floats(0), longs(2, 6), floats()).fixed(2);
    op(op, at(2), floats(0), longs(0, 6), floats()).fixed(2).noGradient();
    op(op, some, floats(4), longs(3, 6), floats()).fails(Code.INVALID_ARGUMENT);
    op(op, some, floats(3), longs(5, 6), floats()).fails(Code.INVALID_ARGUMENT);
    op(op, some, floats(4), longs(0, 6), floats()).fails(Code.INVALID_ARGUMENT);
    op(op, some, floats(4), longs(5, 6), floats(1)).fails(Code.INVALID_ARGUMENT);
    for (DType dtype : List.of(DType.FLOAT, DType.DOUBLE, DType.INT64)) {
      op(op + "Grad", longs(2, 0, 3), any(dtype, 5)).noGradient();
    }
    op(op + "Grad", longs(), floats(2)).noGradient();
    op(op + "Grad", longs(1, 5), floats(5)).fails(Code.INVALID_ARGUMENT);
  }

  private void segments(String op) {
    for (DType dtype : Kernels.types(op, "T")) {
      op(op, any(dtype, 5, 3), ints(4, 0, 4, 2), ints(0, 0, 0, 2));
      op(op + "WithNumSegments", any(dtype, 5, 3), ints(4, 0, 4), ints(0, 0, 2), scalar(4))
          .fixed(3);
    }
    op(op, floats(5), longs(4, 0, 4, 2), longs(0, 1, 1, 1));
    op(op, floats(3, 2, 2), longs(2, 2), ints(1, 1));
    op(op, floats(3, 2), ints(), longs());
    op(op, floats(3, 0), ints(0, 1), ints(0, 0));
    op(op, floats(3, 2), ints(3), ints(0)).fails(Code.INVALID_ARGUMENT);
    op(op, floats(3, 2), ints(0, 1), ints(1, 0)).fails(Code.INVALID_ARGUMENT);
    op(op, floats(3, 2), ints(0, 1), ints(0)).fails(Code.INVALID_ARGUMENT);
    op(op, floats(3, 2), ints(0, 1), ints(-1, 0)).fails(Code.INVALID_ARGUMENT);
    op = op + "WithNumSegments";
    op(op, floats(5), longs(4, 0), longs(1, 1), Tensor.scalar(3L)).fixed(3);
    op(op, floats(3, 2), ints(), ints(), scalar(2)).fixed(3);
    op(op, floats(3, 2), ints(0, 1), ints(0, 2), scalar(2)).fails(Code.INVALID_ARGUMENT);
    op(op, floats(3, 2), ints(0), ints(0), scalar(-1)).fails(Code.INVALID_ARGUMENT);
  }

  private void segmentGradients(String op) {
    for (String grad : List.of(op + "Grad", op + "GradV2")) {
      for (DType dtype : Kernels.types(grad, "T")) {
        op(grad, any(dtype, 3, 2), ints(4, 0, 4, 2), ints(0, 0, 0, 2), scalar(6))
            .fixed(3)
            .noGradient();
      }
      op(grad, floats(2, 3), longs(1, 0), longs(1, 1), scalar(2)).fixed(3).noGradient();
      op(grad, floats(2, 3), ints(1, 0), ints(0, 2), scalar(2)).fails(Code.INVALID_ARGUMENT);
      op(grad, floats(2, 3), ints(1, 3), ints(0, 1), scalar(2)).fails(Code.INVALID_ARGUMENT);
      op(grad, floats(2, 3), ints(1), ints(0, 1), scalar(2)).fails(Code.INVALID_ARGUMENT);
    }
  }
}
