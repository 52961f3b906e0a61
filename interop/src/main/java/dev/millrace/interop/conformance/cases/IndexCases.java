package dev.millrace.interop.conformance.cases;

import dev.millrace.base.Code;
import dev.millrace.interop.conformance.CaseTable;
import dev.millrace.interop.conformance.Kernels;
import dev.millrace.interop.conformance.Values;
import dev.millrace.interop.conformance.Values.Domain;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;

/** Ops that pick, scatter, select or sort elements by indices and conditions. */
public final class IndexCases extends CaseTable {
  private static final List<DType> SOME =
      List.of(DType.DOUBLE, DType.INT32, DType.INT64, DType.BOOL, DType.HALF, DType.STRING);

  public IndexCases() {
    gather();
    oneHot();
    select();
    where();
    stitch();
    segments();
    unique();
    top();
    sparse();
  }

  private void gather() {
    op("Gather", floats(5, 3), ints(4, 0, 0));
    op("Gather", floats(5), longs(1, 2));
    op("GatherV2", floats(5, 3), ints(4, 0, 0), scalar(0)).fixed(2);
    op("GatherV2", floats(5, 3), scalar(2), scalar(0)).fixed(2);
    op("GatherV2", floats(2, 5, 3), longs(1, 4), scalar(1)).fixed(2);
    op("GatherV2", floats(2, 5, 3), Tensor.of(Shape.of(2, 2), 0, 1, 2, 0), scalar(-1)).fixed(2);
    op("GatherV2", floats(5, 3), ints(), scalar(0)).fixed(2);
    op("GatherV2", floats(2, 5), Tensor.of(Shape.of(2, 2), 4, 0, 1, 1), scalar(1))
        .fixed(2)
        .with("batch_dims", 1);
    op("GatherV2", floats(0, 3), ints(), scalar(0)).fixed(2);
    op("GatherV2", floats(5, 3), ints(5), scalar(0)).fails(Code.INVALID_ARGUMENT);
    op("GatherV2", floats(5, 3), ints(-1), scalar(0)).fails(Code.INVALID_ARGUMENT);
    op("GatherV2", floats(5), ints(0), scalar(1)).fails(Code.INVALID_ARGUMENT);
    op("GatherNd", floats(4, 3), Tensor.of(Shape.of(2, 2), 0, 2, 3, 1));
    op("GatherNd", floats(4, 3), Tensor.of(Shape.of(2, 1), 3, 3));
    op("GatherNd", floats(4, 3), Tensor.of(Shape.of(2, 1, 2), 0L, 0L, 3L, 2L));
    op("GatherNd", floats(4, 3), Tensor.of(Shape.of(2, 0), new int[0]));
    op("GatherNd", floats(4, 3), Tensor.of(Shape.of(1, 2), 4, 0)).fails(Code.INVALID_ARGUMENT);
    for (DType dtype : SOME) {
      op("GatherV2", any(dtype, 4, 3), ints(3, 1), scalar(0)).fixed(2);
      op("GatherNd", any(dtype, 4, 3), Tensor.of(Shape.of(1, 2), 1, 2));
    }
  }

  private void oneHot() {
    Tensor on = Tensor.scalar(1f);
    Tensor off = Tensor.scalar(0f);
    op("OneHot", ints(0, 2, 1), scalar(3), on, off).fixed(1).noGradient();
    op("OneHot", longs(0, -1, 5), scalar(3), on, off).fixed(1).noGradient();
    op("OneHot", scalar(1), scalar(4), on, off).fixed(1).noGradient();
    op("OneHot", values.between(DType.INT64, 0, 4, 2, 3), scalar(4), on, off)
        .fixed(1)
        .with("axis", 0)
        .noGradient();
    op("OneHot", values.between(DType.UINT8, 0, 4, 2, 3), scalar(4), on, off)
        .fixed(1)
        .with("axis", 1)
        .noGradient();
    op("OneHot", ints(0, 2), scalar(0), on, off).fixed(1).noGradient();
    op("OneHot", ints(), scalar(2), on, off).fixed(1).noGradient();
    op("OneHot", ints(0), scalar(-1), on, off).fails(Code.INVALID_ARGUMENT);
    for (DType dtype : SOME) {
      op("OneHot", ints(0, 2), scalar(3), any(dtype), any(dtype)).fixed(1).noGradient();
    }
  }

  private void select() {
    op("Select", any(DType.BOOL, 3, 4), floats(3, 4), floats(3, 4));
    op("Select", Tensor.scalar(true), floats(3, 4), floats(3, 4));
    op("Select", any(DType.BOOL, 3), floats(3, 4), floats(3, 4));
    op("Select", any(DType.BOOL, 0), floats(0), floats(0));
    op("Select", any(DType.BOOL, 4), floats(3, 4), floats(3, 4)).fails(Code.INVALID_ARGUMENT);
    op("SelectV2", any(DType.BOOL, 3, 4), floats(3, 4), floats(3, 4));
    op("SelectV2", any(DType.BOOL, 4), floats(3, 4), floats());
    op("SelectV2", any(DType.BOOL, 3, 1), floats(4), floats(2, 3, 1));
    op("SelectV2", Tensor.scalar(false), floats(2), floats(2));
    op("SelectV2", any(DType.BOOL, 2, 1), floats(0), floats(2, 0));
    op("SelectV2", any(DType.BOOL, 3), floats(4), floats()).fails(Code.INVALID_ARGUMENT);
    for (DType dtype : SOME) {
      op("Select", any(DType.BOOL, 5), any(dtype, 5), any(dtype, 5));
      op("SelectV2", any(DType.BOOL, 5), any(dtype, 5), any(dtype, 2, 1));
    }
  }

  private void where() {
    op("Where", any(DType.BOOL, 7));
    op("Where", any(DType.BOOL, 3, 4));
    op("Where", any(DType.BOOL, 2, 3, 2));
    op("Where", any(DType.BOOL, 0, 2));
    op("Where", Values.filled(DType.BOOL, 0, 3));
    for (DType dtype : Kernels.types("Where", "T")) {
      // Registered for half, but only to refuse it.
      if (dtype != DType.HALF) {
        op("Where", values.between(dtype, 0, 3, 4, 5));
      }
    }
  }

  private void stitch() {
    op("DynamicStitch", ints(0, 2), ints(1), floats(2, 3), floats(1, 3)).with("N", 2);
    op("DynamicStitch", ints(3, 1), ints(0, 2, 1), floats(2), floats(3)).with("N", 2);
    op("DynamicStitch", scalar(1), ints(0), floats(2), floats(1, 2)).with("N", 2);
    op("DynamicStitch", ints(), floats(0)).with("N", 1);
    op("DynamicStitch", ints(0, -1), floats(2)).with("N", 1).fails(Code.INVALID_ARGUMENT);
    op("DynamicStitch", ints(0, 1), floats(3)).with("N", 1).fails(Code.INVALID_ARGUMENT);
    op("ParallelDynamicStitch", ints(0, 2), ints(1), floats(2, 3), floats(1, 3)).with("N", 2);
    op("DynamicPartition", floats(5), ints(0, 1, 0, 1, 1)).with("num_partitions", 2);
    op("DynamicPartition", floats(4, 2), ints(2, 0, 2, 0)).with("num_partitions", 3);
    op("DynamicPartition", floats(2, 2), Tensor.of(Shape.of(2, 2), 0, 1, 1, 0))
        .with("num_partitions", 2);
    op("DynamicPartition", floats(0, 2), ints()).with("num_partitions", 2);
    op("DynamicPartition", floats(2), ints(0, 2))
        .with("num_partitions", 2)
        .fails(Code.INVALID_ARGUMENT);
    op("DynamicPartition", floats(2), ints(0))
        .with("num_partitions", 2)
        .fails(Code.INVALID_ARGUMENT);
    for (DType dtype : SOME) {
      op("DynamicStitch", ints(1, 0), any(dtype, 2, 2)).with("N", 1);
      op("DynamicPartition", any(dtype, 4), ints(1, 0, 0, 1)).with("num_partitions", 2);
    }
  }

  private void segments() {
    op("SegmentSum", floats(5), ints(0, 0, 1, 3, 3));
    op("SegmentSum", doubles(4, 3), longs(0, 1, 1, 1));
    op("SegmentSum", floats(3), ints(1, 0, 2)).fails(Code.INVALID_ARGUMENT);
    op("UnsortedSegmentSum", floats(5), ints(0, 2, 0, 1, 2), scalar(3)).fixed(2);
    op("UnsortedSegmentSum", floats(4, 3), longs(3, 0, 3, 0), scalar(5)).fixed(2);
    op("UnsortedSegmentSum", floats(2, 2, 3), Tensor.of(Shape.of(2, 2), 0, 1, 1, 0), scalar(2))
        .fixed(2);
    // A negative id drops its rows.
    op("UnsortedSegmentSum", floats(3), ints(0, -1, 1), scalar(2)).fixed(2);
    op("UnsortedSegmentSum", floats(0), ints(), scalar(2)).fixed(2);
    op("UnsortedSegmentSum", floats(3), ints(0, 2, 1), scalar(2)).fails(Code.INVALID_ARGUMENT);
    op("UnsortedSegmentSum", floats(3), ints(0, 1), scalar(2)).fails(Code.INVALID_ARGUMENT);
    for (DType dtype : Kernels.types("UnsortedSegmentSum", "T")) {
      op("UnsortedSegmentSum", any(dtype, 4, 2), ints(1, 0, 1, 1), scalar(2)).fixed(2);
    }
  }

  private void unique() {
    op("Unique", ints(3, 1, 3, 2, 1));
    op("UniqueWithCounts", ints(3, 1, 3, 2, 1));
    op("UniqueWithCounts", any(DType.STRING, 9)).with("out_idx", DType.INT64);
    op("ListDiff", ints(1, 2, 3, 4, 1), ints(2, 4));
    op("ListDiff", any(DType.STRING, 6), Tensor.vector("w1")).with("out_idx", DType.INT64);
    op("Unique", ints()).with("out_idx", DType.INT64);
    op("Unique", Tensor.of(Shape.of(2, 2), 1, 2, 3, 4)).fails(Code.INVALID_ARGUMENT);
    for (DType dtype : Kernels.types("Unique", "T")) {
      if (dtype != DType.BOOL) {
        op("Unique", any(dtype, 20)).noGradient();
      }
    }
  }

  private void top() {
    op("TopKV2", distinct(DType.FLOAT, 7), scalar(3)).fixed(1);
    op("TopKV2", distinct(DType.FLOAT, 3, 10), scalar(4)).fixed(1);
    op("TopKV2", values.between(DType.INT32, 0, 3, 4, 9), scalar(5)).fixed(1);
    op("TopKV2", distinct(DType.FLOAT, 2, 3), scalar(3)).fixed(1);
    op("TopKV2", floats(3), scalar(0)).fixed(1).noGradient();
    op("TopKV2", floats(3), scalar(4)).fails(Code.INVALID_ARGUMENT);
    op("TopKV2", floats(), scalar(0)).fails(Code.INVALID_ARGUMENT);
    for (DType dtype : Kernels.types("TopKV2", "T")) {
      op("TopKV2", values.of(Domain.DISTINCT, dtype, Shape.of(2, 9)), scalar(2)).fixed(1);
    }
    Tensor scores = distinct(DType.FLOAT, 4, 6);
    op("InTopK", scores, ints(0, 1, 2, 3)).with("k", 2).noGradient();
    op("InTopK", Values.filled(DType.FLOAT, 1, 4, 6), longs(0, 1, 5, 3)).with("k", 2).noGradient();
    op("InTopK", values.of(Domain.SPECIAL, DType.FLOAT, Shape.of(4, 6)), ints(0, 1, 2, 3))
        .with("k", 3)
        .noGradient();
    op("InTopK", scores, ints(0, 1, 2, 6)).with("k", 2).noGradient();
    op("InTopKV2", scores, ints(5, 4, 3, 2), scalar(3)).noGradient();
    op("InTopK", scores, ints(0)).with("k", 2).fails(Code.INVALID_ARGUMENT);
  }

  private void sparse() {
    op("ScatterNd", Tensor.of(Shape.of(3, 1), 4, 1, 4), floats(3), ints(6)).fixed(2);
    op("ScatterNd", Tensor.of(Shape.of(3, 1), 4, 1, 4), Tensor.vector("a", "b", "c"), ints(6))
        .fixed(2);
    op("ScatterNd", Tensor.of(Shape.of(2, 1), 0L, 2L), floats(2, 3), longs(4, 3)).fixed(2);
    op("ScatterNd", Tensor.of(Shape.of(1, 2), 1, 2), doubles(1), ints(2, 3)).fixed(2);
    op("ScatterNd", Tensor.of(Shape.of(1, 1), 6), floats(1), ints(6)).fails(Code.INVALID_ARGUMENT);
    op("SparseToDense", ints(1, 3), ints(5), floats(2), Tensor.scalar(0f)).fixed(1).noGradient();
    op(
            "SparseToDense",
            Tensor.of(Shape.of(2, 2), 0L, 1L, 2L, 0L),
            longs(3, 2),
            Tensor.scalar(9f),
            Tensor.scalar(1f))
        .fixed(1)
        .noGradient();
    op("SparseToDense", scalar(2), ints(4), Tensor.scalar(7), Tensor.scalar(-1)).fixed(1);
    op("SparseToDense", ints(3, 1), ints(5), floats(2), Tensor.scalar(0f))
        .fails(Code.INVALID_ARGUMENT);
    op("SparseToDense", ints(3, 1), ints(5), floats(2), Tensor.scalar(0f))
        .fixed(1)
        .with("validate_indices", false)
        .noGradient();
    op("SparseToDense", ints(1, 5), ints(5), floats(2), Tensor.scalar(0f))
        .fails(Code.INVALID_ARGUMENT);
  }
}
