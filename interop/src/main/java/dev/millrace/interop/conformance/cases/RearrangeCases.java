package dev.millrace.interop.conformance.cases;

import dev.millrace.base.Code;
import dev.millrace.interop.conformance.CaseTable;
import dev.millrace.interop.conformance.Kernels;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;

/** Elements in another order, mirrored or searched, and sets. */
public final class RearrangeCases extends CaseTable {
  public RearrangeCases() {
    formats();
    mirrors();
    sequences();
    searches();
    sets();
  }

  private void formats() {
    for (DType dtype : Kernels.types("DataFormatDimMap", "T")) {
      op("DataFormatDimMap", values.between(dtype, -4, 4, 3, 4));
      op("DataFormatDimMap", values.between(dtype, -5, 5, 7))
          .with("src_format", "NDHWC")
          .with("dst_format", "NCDHW");
      op("DataFormatDimMap", any(dtype, 0));
    }
    op("DataFormatDimMap", ints(1)).with("src_format", "NHW").fails(Code.INVALID_ARGUMENT);
    for (DType dtype : Kernels.types("DataFormatVecPermute", "T")) {
      op("DataFormatVecPermute", distinct(dtype, 4));
      op("DataFormatVecPermute", distinct(dtype, 4, 2)).with("dst_format", "HWNC");
      op("DataFormatVecPermute", distinct(dtype, 2, 2)).with("dst_format", "NCWH");
      op("DataFormatVecPermute", distinct(dtype, 5))
          .with("src_format", "NDHWC")
          .with("dst_format", "NCDHW");
    }
    op("DataFormatVecPermute", ints(1, 2, 3)).fails(Code.INVALID_ARGUMENT);
    for (DType dtype : Kernels.types("ParallelConcat", "T")) {
      op("ParallelConcat", any(dtype, 1, 3), any(dtype, 1, 3))
          .with("shape", Shape.of(2, 3))
          .noGradient();
    }
    op("ParallelConcat", any(DType.INT32, 1, 0)).with("shape", Shape.of(1, 0)).noGradient();
    for (DType dtype : List.of(DType.FLOAT, DType.DOUBLE, DType.INT32, DType.STRING)) {
      op("GuaranteeConst", any(dtype, 3)).noGradient();
    }
    op("GuaranteeConst", any(DType.INT32, 0)).noGradient();
  }

  private void mirrors() {
    Tensor paddings = Tensor.of(Shape.of(2, 2), 1, 2, 2, 0);
    for (String mode : List.of("REFLECT", "SYMMETRIC")) {
      for (DType dtype : Kernels.types("MirrorPad", "T")) {
        op("MirrorPad", any(dtype, 3, 4), paddings).fixed(1).with("mode", mode);
      }
      for (DType dtype : Kernels.types("MirrorPadGrad", "T")) {
        op("MirrorPadGrad", any(dtype, 6, 6), paddings).fixed(1).with("mode", mode);
      }
      op("MirrorPad", doubles(3), Tensor.of(Shape.of(1, 2), 2L, 2L)).fixed(1).with("mode", mode);
      op("MirrorPadGrad", doubles(7), Tensor.of(Shape.of(1, 2), 2L, 2L))
          .fixed(1)
          .with("mode", mode);
      op("MirrorPad", floats(2, 3), Tensor.of(Shape.of(2, 2), 3, 0, 0, 0))
          .with("mode", mode)
          .fails(Code.INVALID_ARGUMENT);
      op("MirrorPad", floats(2, 3), Tensor.of(Shape.of(1, 2), 1, 0))
          .with("mode", mode)
          .fails(Code.INVALID_ARGUMENT);
      op("MirrorPadGrad", floats(2, 3), Tensor.of(Shape.of(2, 2), 2, 2, 0, 0))
          .with("mode", mode)
          .fails(Code.INVALID_ARGUMENT);
    }
  }

  private void sequences() {
    for (DType dtype : Kernels.types("ReverseSequence", "T")) {
      op("ReverseSequence", any(dtype, 3, 4, 2), longs(2, 0, 4)).with("seq_dim", 1);
    }
    op("ReverseSequence", doubles(4, 3), ints(1, 4, 2)).with("seq_dim", 0).with("batch_dim", 1);
    op("ReverseSequence", doubles(2, 3, 2, 2), ints(2, 1)).with("seq_dim", 1).with("batch_dim", 3);
    op("ReverseSequence", doubles(0, 3), longs()).with("seq_dim", 1);
    op("ReverseSequence", floats(2, 3), longs(1)).with("seq_dim", 1).fails(Code.INVALID_ARGUMENT);
    op("ReverseSequence", floats(1, 3), longs(4)).with("seq_dim", 1).fails(Code.INVALID_ARGUMENT);
    for (DType dtype : Kernels.types("Roll", "T")) {
      op("Roll", any(dtype, 3, 4), scalar(1), scalar(1));
    }
    op("Roll", doubles(3, 4, 2), ints(2, -3), ints(0, -2));
    op("Roll", doubles(3, 4), longs(5, 6), longs(1, 1));
    op("Roll", doubles(0, 4), scalar(1), scalar(0));
    op("Roll", floats(3), scalar(1), scalar(1)).fails(Code.INVALID_ARGUMENT);
    op("Roll", floats(3), ints(1, 2), scalar(0)).fails(Code.INVALID_ARGUMENT);
    for (String op : List.of("UniqueV2", "UniqueWithCountsV2")) {
      for (DType dtype : Kernels.types(op, "T")) {
        if (!dtype.isComplex()) {
          op(op, values.between(DType.INT32, 0, 2, 5, 2), longs(0)).noGradient();
          op(op, any(dtype, 7), longs()).noGradient();
        }
      }
      op(op, Tensor.of(Shape.of(2, 3), 1.0, 2, 1, 3, 4, 3), ints(1)).noGradient();
      op(op, floats(2, 3), ints()).fails(Code.INVALID_ARGUMENT);
      op(op, floats(2, 3), ints(2)).fails(Code.INVALID_ARGUMENT);
      op(op, floats(0), ints(0)).noGradient();
    }
  }

  private void searches() {
    for (String op : List.of("LowerBound", "UpperBound")) {
      for (DType dtype : Kernels.types(op, "T")) {
        Tensor sorted = Tensor.allocate(dtype, Shape.of(2, 4));
        for (int i = 0; i < 8; i++) {
          sorted.setLong(i, i % 4 * 2L);
        }
        op(op, sorted, values.between(dtype, 0, 8, 2, 5)).noGradient();
      }
      op(op, floats(1, 0), floats(1, 3)).noGradient();
      op(op, floats(1, 2), floats(2, 3)).fails(Code.INVALID_ARGUMENT);
    }
    for (DType dtype : Kernels.types("HistogramFixedWidth", "T")) {
      Tensor range = Tensor.allocate(dtype, Shape.of(2));
      range.setLong(0, 0);
      range.setLong(1, 5);
      op("HistogramFixedWidth", any(dtype, 3, 7), range, scalar(5)).fixed(2).noGradient();
      op("HistogramFixedWidth", any(dtype, 0), range, scalar(3)).fixed(2).noGradient();
    }
    op("HistogramFixedWidth", floats(3), Tensor.vector(1f, 1f), scalar(2))
        .fails(Code.INVALID_ARGUMENT);
    op("HistogramFixedWidth", floats(3), Tensor.vector(0f, 1f), scalar(0))
        .fails(Code.INVALID_ARGUMENT);
    op("UnravelIndex", ints(0, 7, 23), ints(2, 3, 4));
    op("UnravelIndex", longs(0, 7, 23), longs(4, 6));
    op("UnravelIndex", Tensor.scalar(5), ints(2, 3));
    op("UnravelIndex", ints(6), ints(2, 3)).fails(Code.INVALID_ARGUMENT);
  }

  private void sets() {
    for (String operation : List.of("a-b", "b-a", "intersection", "union")) {
      for (DType dtype : Kernels.types("DenseToDenseSetOperation", "T")) {
        op("DenseToDenseSetOperation", any(dtype, 2, 3, 4), any(dtype, 2, 3, 2))
            .with("set_operation", operation);
      }
      Tensor indices = Tensor.of(Shape.of(3, 2), 0L, 0, 0, 1, 2, 0);
      for (DType dtype : List.of(DType.INT32, DType.INT64, DType.STRING)) {
        Tensor of = any(dtype, 3);
        op("DenseToSparseSetOperation", any(dtype, 3, 4), indices, of, longs(3, 2))
            .with("set_operation", operation);
        op(
                "SparseToSparseSetOperation",
                indices,
                of,
                longs(3, 2),
                indices,
                any(dtype, 3),
                longs(3, 3))
            .with("set_operation", operation);
      }
    }
    Tensor outside = Tensor.of(Shape.of(1, 2), 5L, 0);
    op("DenseToDenseSetOperation", ints(1, 2), ints(1, 2))
        .with("set_operation", "union")
        .fails(Code.INVALID_ARGUMENT);
    op("DenseToDenseSetOperation", any(DType.INT32, 2, 0), any(DType.INT32, 2, 1))
        .with("set_operation", "a-b");
    op("DenseToSparseSetOperation", any(DType.INT32, 3, 2), outside, ints(1), longs(3, 2))
        .with("set_operation", "union")
        .fails(Code.INVALID_ARGUMENT);
    op("SparseToSparseSetOperation", outside, ints(1), longs(3, 2), outside, ints(1), longs(3, 2))
        .with("set_operation", "union")
        .fails(Code.INVALID_ARGUMENT);
  }
}
