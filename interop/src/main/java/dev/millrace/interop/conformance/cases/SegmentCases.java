package dev.millrace.interop.conformance.cases;

import dev.millrace.base.Code;
import dev.millrace.interop.conformance.CaseTable;
import dev.millrace.interop.conformance.Kernels;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;

/** Products, means and extrema of the rows of segments, and counts of numbers. */
public final class SegmentCases extends CaseTable {
  public SegmentCases() {
    for (String op : List.of("SegmentMax", "SegmentMin", "SegmentProd", "SegmentMean")) {
      sorted(op);
    }
    for (String how : List.of("Max", "Min", "Prod")) {
      unsorted("UnsortedSegment" + how);
    }
    bincount();
    denseBincount();
  }

  private void sorted(String op) {
    for (DType dtype : Kernels.types(op, "T")) {
      if (!dtype.isComplex()) {
        op(op, distinct(dtype, 5, 2), ints(0, 0, 1, 3, 3)).noGradient();
      }
    }
    op(op, distinct(DType.FLOAT, 5), ints(0, 0, 1, 3, 3)).gradientByDifferences();
    op(op, distinct(DType.DOUBLE, 4, 3), longs(0, 1, 1, 1)).gradientByDifferences();
    op(op, floats(0, 3), ints()).noGradient();
    op(op, Tensor.vector(1f, Float.NaN, 2f), ints(0, 0, 1)).noGradient();
    op(op, floats(3), ints(1, 0, 2)).fails(Code.INVALID_ARGUMENT);
    op(op, floats(3), ints(-1, 0, 2)).fails(Code.INVALID_ARGUMENT);
    op(op, floats(3), ints(0, 1)).fails(Code.INVALID_ARGUMENT);
  }

  private void unsorted(String op) {
    for (DType dtype : Kernels.types(op, "T")) {
      if (!dtype.isComplex()) {
        op(op, distinct(dtype, 4, 2), ints(2, 0, -1, 2), scalar(4)).fixed(2).noGradient();
      }
    }
    op(op, distinct(DType.FLOAT, 5), ints(0, 2, 0, 1, 2), scalar(3))
        .fixed(2)
        .gradientByDifferences();
    op(op, distinct(DType.DOUBLE, 4, 3), longs(1, 0, 1, 0), Tensor.scalar(2L))
        .fixed(2)
        .gradientByDifferences();
    op(op, distinct(DType.FLOAT, 2, 2, 3), Tensor.of(Shape.of(2, 2), 0, 1, 1, -1), scalar(2))
        .fixed(2)
        .gradientByDifferences();
    op(op, floats(0), ints(), scalar(2)).fixed(2).noGradient();
    op(op, floats(3), ints(0, 2, 1), scalar(2)).fails(Code.INVALID_ARGUMENT);
    op(op, floats(3), ints(0, 1), scalar(2)).fails(Code.INVALID_ARGUMENT);
  }

  private void bincount() {
    String op = "Bincount";
    for (DType dtype : List.of(DType.INT32, DType.INT64, DType.FLOAT, DType.DOUBLE)) {
      op(op, ints(3, 1, 1, 0, 7), scalar(5), any(dtype, 5)).fixed(1).noGradient();
      op(op, ints(3, 1, 1, 0, 7), scalar(5), any(dtype, 0)).fixed(1).noGradient();
    }
    op(op, ints(), scalar(3), floats(0)).fixed(1).noGradient();
    op(op, Tensor.of(Shape.of(2, 2), 1, 2, 2, 0), scalar(3), floats(0)).fixed(1).noGradient();
    op(op, ints(1, -1), scalar(3), floats(0)).fails(Code.INVALID_ARGUMENT);
    op(op, ints(1), scalar(-3), floats(0)).fails(Code.INVALID_ARGUMENT);
  }

  private void denseBincount() {
    String op = "DenseBincount";
    for (DType dtype : List.of(DType.INT32, DType.INT64, DType.FLOAT, DType.DOUBLE)) {
      op(op, ints(3, 1, 1, 0, 7), scalar(5), any(dtype, 5)).fixed(1).noGradient();
      op(op, Tensor.of(Shape.of(2, 3), 1L, 2L, 2L, 0L, 9L, 1L), Tensor.scalar(4L), any(dtype, 0))
          .fixed(1)
          .noGradient();
    }
    op(op, Tensor.of(Shape.of(2, 3), 1, 2, 2, 0, 9, 1), scalar(4), floats(2, 3))
        .fixed(1)
        .noGradient();
    op(op, Tensor.of(Shape.of(2, 3), 1, 2, 2, 0, 9, 1), scalar(4), floats(0))
        .fixed(1)
        .with("binary_output", true)
        .noGradient();
    op(op, ints(), scalar(3), floats(0)).fixed(1).noGradient();
    op(op, ints(1, -1), scalar(3), floats(0)).fails(Code.INVALID_ARGUMENT);
  }
}
