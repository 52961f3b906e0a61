package dev.millrace.interop.conformance.cases;

import dev.millrace.base.Code;
import dev.millrace.interop.conformance.CaseTable;
import dev.millrace.interop.conformance.Kernels;
import dev.millrace.interop.conformance.OpCase;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;

/** Ops that move whole blocks of elements about, or only speak of shapes. */
public final class ArrayCases extends CaseTable {
  private static final List<DType> SOME =
      List.of(
          DType.DOUBLE,
          DType.INT32,
          DType.INT64,
          DType.BOOL,
          DType.HALF,
          DType.UINT8,
          DType.STRING);

  public ArrayCases() {
    shapes();
    reshaping();
    joining();
    splitting();
    slicing();
    stridedSlicing();
    filling();
    permuting();
    padding();
    broadcasting();
  }

  private void shapes() {
    for (Shape shape : SHAPES) {
      for (String op : List.of("Shape", "Size")) {
        op(op, floats(shape.dims()));
        op(op, any(DType.STRING, shape.dims())).with("out_type", DType.INT64);
      }
      op("Rank", floats(shape.dims()));
    }
    op("ShapeN", floats(2, 3), floats());
    op("ShapeN", floats(0, 2), floats(1), floats(5, 1)).with("out_type", DType.INT64);
  }

  private void reshaping() {
    op("Reshape", floats(2, 6), ints(3, 4)).fixed(1);
    op("Reshape", floats(2, 6), ints(-1)).fixed(1);
    op("Reshape", floats(2, 6), longs(4, -1, 1)).fixed(1);
    op("Reshape", floats(1), ints()).fixed(1);
    op("Reshape", floats(), ints(1, 1)).fixed(1);
    op("Reshape", floats(0, 3), ints(-1, 3)).fixed(1);
    op("Reshape", floats(0, 3), ints(3, 0, 7)).fixed(1);
    op("Reshape", floats(2, 6), ints(5, -1)).fails(Code.INVALID_ARGUMENT);
    op("Reshape", floats(2, 6), ints(-1, -1)).fails(Code.INVALID_ARGUMENT);
    op("Reshape", floats(2, 6), ints(13)).fails(Code.INVALID_ARGUMENT);
    op("Reshape", floats(2, 6), ints(-2, -6)).fails(Code.INVALID_ARGUMENT);
    op("Squeeze", floats(1, 3, 1));
    op("Squeeze", floats(1, 3, 1)).with("squeeze_dims", List.of(0));
    op("Squeeze", floats(1, 3, 1)).with("squeeze_dims", List.of(-1));
    op("Squeeze", floats());
    op("Squeeze", floats(1, 3, 1)).with("squeeze_dims", List.of(1)).fails(Code.INVALID_ARGUMENT);
    op("Squeeze", floats(1, 3, 1)).with("squeeze_dims", List.of(3)).fails(Code.INVALID_ARGUMENT);
    for (int axis : new int[] {0, 1, 2, -1, -3}) {
      op("ExpandDims", floats(3, 4), scalar(axis)).fixed(1);
    }
    op("ExpandDims", floats(), Tensor.scalar(0L)).fixed(1);
    op("ExpandDims", floats(3, 4), scalar(3)).fails(Code.INVALID_ARGUMENT);
    for (DType dtype : SOME) {
      op("Reshape", any(dtype, 2, 6), ints(3, 4)).fixed(1);
      op("ExpandDims", any(dtype, 2), scalar(0)).fixed(1);
      op("Squeeze", any(dtype, 2, 1));
    }
  }

  private void joining() {
    for (int axis : new int[] {0, 1, -1}) {
      op("Pack", floats(3), floats(3)).with("axis", axis);
    }
    op("Pack", floats());
    op("Pack", floats(2, 3), floats(2, 3), floats(2, 3)).with("axis", 2);
    op("Pack", floats(0), floats(0));
    op("Pack", floats(2), floats(3)).fails(Code.INVALID_ARGUMENT);
    op("Pack", floats(2), floats(2)).with("axis", 2).fails(Code.INVALID_ARGUMENT);
    op("ConcatV2", floats(2, 3), floats(4, 3), scalar(0)).fixed(2);
    op("ConcatV2", floats(2, 3), floats(2, 1), floats(2, 2), scalar(1)).fixed(3);
    op("ConcatV2", floats(2, 3, 2), floats(2, 1, 2), Tensor.scalar(-2L)).fixed(2);
    op("ConcatV2", floats(0), floats(3), scalar(0)).fixed(2);
    op("ConcatV2", floats(2, 0), floats(2, 3), scalar(1)).fixed(2);
    op("ConcatV2", floats(2, 3), floats(4, 2), scalar(0)).fails(Code.INVALID_ARGUMENT);
    op("ConcatV2", floats(2), floats(2), scalar(1)).fails(Code.INVALID_ARGUMENT);
    op("Concat", scalar(1), floats(2, 3), floats(2, 1)).fixed(0);
    op("ConcatOffset", scalar(1), ints(2, 3), ints(2, 5), ints(2, 1)).fixed(0);
    op("ConcatOffset", scalar(0), ints(2, 3), ints(2, 5)).fails(Code.INVALID_ARGUMENT);
    op("EnsureShape", floats(2, 3)).with("shape", Shape.of(-1, 3));
    op("EnsureShape", floats(2, 3)).with("shape", Shape.of(3, 3)).fails(Code.INVALID_ARGUMENT);
    for (DType dtype : SOME) {
      op("Pack", any(dtype, 3), any(dtype, 3));
      op("ConcatV2", any(dtype, 2, 3), any(dtype, 2, 2), scalar(1)).fixed(2);
    }
  }

  private void splitting() {
    op("Unpack", floats(3, 4)).with("num", 3);
    op("Unpack", floats(3, 4)).with("num", 4).with("axis", -1);
    op("Unpack", floats(2, 0)).with("num", 2);
    op("Unpack", floats(3, 4)).with("num", 2).fails(Code.INVALID_ARGUMENT);
    op("Split", scalar(0), floats(6, 2)).fixed(0).with("num_split", 3);
    op("Split", scalar(-1), floats(2, 3, 4)).fixed(0).with("num_split", 2);
    op("Split", scalar(0), floats(5)).fixed(0).with("num_split", 1);
    op("Split", scalar(0), floats(5)).with("num_split", 2).fails(Code.INVALID_ARGUMENT);
    op("Split", scalar(1), floats(4)).with("num_split", 2).fails(Code.INVALID_ARGUMENT);
    op("SplitV", floats(6, 2), ints(1, 3, 2), scalar(0)).fixed(1, 2).with("num_split", 3);
    op("SplitV", floats(2, 6), longs(4, -1), scalar(1)).fixed(1, 2).with("num_split", 2);
    op("SplitV", floats(2, 6), longs(6, 0), scalar(1)).fixed(1, 2).with("num_split", 2);
    op("SplitV", floats(6), longs(1, 3), scalar(0))
        .with("num_split", 2)
        .fails(Code.INVALID_ARGUMENT);
    for (DType dtype : SOME) {
      op("Unpack", any(dtype, 2, 3)).with("num", 2);
      op("Split", scalar(1), any(dtype, 2, 4)).fixed(0).with("num_split", 2);
    }
  }

  private void slicing() {
    op("Slice", floats(5), ints(1), ints(3)).fixed(1, 2);
    op("Slice", floats(4, 5), ints(1, 0), ints(2, -1)).fixed(1, 2);
    op("Slice", floats(3, 4, 5), longs(0, 1, 2), longs(-1, 2, 1)).fixed(1, 2);
    op("Slice", floats(4, 5), ints(0, 0), ints(4, 5)).fixed(1, 2);
    op("Slice", floats(4), ints(4), ints(0)).fixed(1, 2);
    op("Slice", floats(), ints(), ints()).fixed(1, 2);
    op("Slice", floats(4), ints(2), ints(3)).fails(Code.INVALID_ARGUMENT);
    op("Slice", floats(4), ints(-1), ints(1)).fails(Code.INVALID_ARGUMENT);
    op("Slice", floats(4, 2), ints(0), ints(1)).fails(Code.INVALID_ARGUMENT);
    for (DType dtype : SOME) {
      op("Slice", any(dtype, 4, 5), ints(1, 2), ints(2, 2)).fixed(1, 2);
    }
  }

  private OpCase strided(Tensor input, int[] begin, int[] end, int[] strides) {
    return op("StridedSlice", input, ints(begin), ints(end), ints(strides)).fixed(1, 2, 3);
  }

  private static int[] v(int... values) {
    return values;
  }

  private void stridedSlicing() {
    strided(floats(7), v(1), v(6), v(2));
    strided(floats(7), v(6), v(0), v(-2));
    strided(floats(7), v(-3), v(100), v(1));
    strided(floats(7), v(5), v(2), v(1));
    strided(floats(4, 5), v(1, 0), v(3, 5), v(1, 2));
    strided(floats(4, 5), v(0, 1), v(0, 4), v(1, 1)).with("end_mask", 1);
    strided(floats(4, 5), v(2, 1), v(4, 0), v(1, 1)).with("begin_mask", 1).with("end_mask", 2);
    strided(floats(4, 5), v(1), v(2), v(1)).with("shrink_axis_mask", 1);
    strided(floats(4, 5), v(-1, 0), v(0, 3), v(1, 1)).with("shrink_axis_mask", 1);
    strided(floats(4, 5), v(2, 3), v(3, 4), v(1, 1)).with("shrink_axis_mask", 3);
    strided(floats(2, 3, 4), v(0, 1), v(0, 3), v(1, 1)).with("ellipsis_mask", 1);
    strided(floats(4, 5), v(0, 1, 0), v(0, 3, 5), v(1, 1, 1)).with("new_axis_mask", 1);
    strided(floats(3, 4), v(0, 0, 1), v(0, 0, 3), v(1, 1, 1))
        .with("ellipsis_mask", 1)
        .with("new_axis_mask", 2);
    strided(floats(4, 5), v(3, 4), v(-5, -6), v(-1, -1));
    strided(floats(0, 3), v(0), v(5), v(1));
    strided(floats(7), v(0), v(5), v(0)).fails(Code.INVALID_ARGUMENT);
    strided(floats(7), v(9), v(10), v(1)).with("shrink_axis_mask", 1).fails(Code.INVALID_ARGUMENT);
    for (DType dtype : SOME) {
      strided(any(dtype, 4, 5), v(1, 0), v(3, 5), v(1, 2));
    }
    op("StridedSliceGrad", ints(7), ints(1), ints(6), ints(2), floats(3)).fixed(0, 1, 2, 3);
    op("StridedSliceGrad", ints(4, 5), ints(1), ints(2), ints(1), floats(5))
        .fixed(0, 1, 2, 3)
        .with("shrink_axis_mask", 1);
    op("StridedSliceGrad", ints(7), ints(6), ints(0), ints(-2), doubles(3)).fixed(0, 1, 2, 3);
    op("StridedSliceGrad", ints(7), ints(1), ints(6), ints(2), floats(4))
        .fixed(0, 1, 2, 3)
        .fails(Code.INVALID_ARGUMENT);
  }

  private void filling() {
    op("Fill", ints(2, 3), Tensor.scalar(1.5f)).fixed(0);
    op("Fill", ints(), Tensor.scalar(1.5f)).fixed(0);
    op("Fill", longs(0, 2), Tensor.scalar(1.5f)).fixed(0);
    op("Fill", ints(-1), Tensor.scalar(1.5f)).fails(Code.INVALID_ARGUMENT);
    op("Fill", ints(2), floats(2)).fails(Code.INVALID_ARGUMENT);
    for (DType dtype : SOME) {
      op("Fill", ints(3), any(dtype)).fixed(0);
    }
    for (String op : List.of("ZerosLike", "OnesLike")) {
      for (DType dtype : Kernels.types(op, "T")) {
        op(op, any(dtype, 2, 3)).noGradient();
      }
      op(op, floats()).noGradient();
      op(op, floats(0, 2)).noGradient();
    }
    op("Tile", floats(2, 3), ints(2, 3)).fixed(1);
    op("Tile", floats(3), longs(4)).fixed(1);
    op("Tile", floats(2, 3), ints(1, 0)).fixed(1);
    op("Tile", floats(), ints()).fixed(1);
    op("Tile", floats(2, 1, 3), ints(1, 5, 2)).fixed(1);
    op("Tile", floats(2, 3), ints(2)).fails(Code.INVALID_ARGUMENT);
    op("Tile", floats(2), ints(-1)).fails(Code.INVALID_ARGUMENT);
    for (DType dtype : SOME) {
      op("Tile", any(dtype, 2, 3), ints(1, 2)).fixed(1);
    }
  }

  private void permuting() {
    op("Transpose", floats(3, 4), ints(1, 0)).fixed(1);
    op("Transpose", floats(3, 4), ints(0, 1)).fixed(1);
    op("Transpose", floats(2, 3, 4), ints(2, 0, 1)).fixed(1);
    op("Transpose", floats(2, 3, 4, 5), longs(0, 3, 1, 2)).fixed(1);
    op("Transpose", floats(2, 3, 4, 5), ints(3, 2, 1, 0)).fixed(1);
    op("Transpose", floats(2, 1, 3, 2, 2), ints(4, 0, 3, 1, 2)).fixed(1);
    op("Transpose", floats(65, 70), ints(1, 0)).fixed(1);
    op("Transpose", floats(0, 3), ints(1, 0)).fixed(1);
    op("Transpose", floats(), ints()).fixed(1);
    op("Transpose", floats(2, 3), ints(0, 0)).fails(Code.INVALID_ARGUMENT);
    op("Transpose", floats(2, 3), ints(0)).fails(Code.INVALID_ARGUMENT);
    for (DType dtype : SOME) {
      op("Transpose", any(dtype, 3, 4), ints(1, 0)).fixed(1);
    }
    for (int[] band : new int[][] {{0, 0}, {-1, 0}, {0, -1}, {1, 2}, {-1, -1}}) {
      op("MatrixBandPart", floats(4, 5), scalar(band[0]), scalar(band[1])).fixed(1, 2);
      op("MatrixBandPart", floats(2, 5, 3), scalar(band[0]), scalar(band[1])).fixed(1, 2);
    }
    op("InvertPermutation", ints(2, 0, 1)).fixed(0);
    op("InvertPermutation", longs(1, 3, 0, 2));
    op("InvertPermutation", ints(0, 0)).fails(Code.INVALID_ARGUMENT);
    op("InvertPermutation", ints(0, 2)).fails(Code.INVALID_ARGUMENT);
    op("ReverseV2", floats(3, 4), ints(0)).fixed(1);
    op("ReverseV2", floats(3, 4), ints(0, -1)).fixed(1);
    op("ReverseV2", floats(2, 3, 4), longs(1)).fixed(1);
    op("ReverseV2", floats(3), ints()).fixed(1);
    op("ReverseV2", floats(3, 4), ints(2)).fails(Code.INVALID_ARGUMENT);
    op("ReverseV2", floats(3, 4), ints(0, 0)).fails(Code.INVALID_ARGUMENT);
    for (DType dtype : SOME) {
      op("ReverseV2", any(dtype, 3, 4), ints(1)).fixed(1);
    }
  }

  private void padding() {
    Tensor both = Tensor.of(Shape.of(2, 2), 1, 2, 0, 3);
    op("Pad", floats(2, 3), both).fixed(1);
    op("Pad", floats(3), Tensor.of(Shape.of(1, 2), 0L, 1L)).fixed(1);
    op("Pad", floats(0, 3), both).fixed(1);
    op("Pad", floats(2, 3), Tensor.of(Shape.of(2, 2), 0, 0, 0, 0)).fixed(1);
    op("PadV2", floats(2, 3), both, Tensor.scalar(7f)).fixed(1).noGradientBy(2);
    op("Pad", floats(2, 3), Tensor.of(Shape.of(1, 2), 1, 2)).fails(Code.INVALID_ARGUMENT);
    op("Pad", floats(3), Tensor.of(Shape.of(1, 2), -1, 2)).fails(Code.INVALID_ARGUMENT);
    for (DType dtype : SOME) {
      op("Pad", any(dtype, 2, 3), both).fixed(1);
      op("PadV2", any(dtype, 2, 3), both, any(dtype)).fixed(1).noGradient();
    }
  }

  private void broadcasting() {
    op("BroadcastTo", floats(3), ints(2, 3)).fixed(1);
    op("BroadcastTo", floats(), longs(2, 3)).fixed(1);
    op("BroadcastTo", floats(2, 1), ints(2, 4)).fixed(1);
    op("BroadcastTo", floats(1), ints(0)).fixed(1);
    op("BroadcastTo", floats(2), ints(3)).fails(Code.INVALID_ARGUMENT);
    op("BroadcastTo", floats(2, 3), ints(3)).fails(Code.INVALID_ARGUMENT);
    for (DType dtype : SOME) {
      op("BroadcastTo", any(dtype, 3, 1), ints(3, 2)).fixed(1);
    }
    for (List<Shape> pair : PAIRS) {
      op("BroadcastGradientArgs", longs(pair.get(0).dims()), longs(pair.get(1).dims()));
    }
    for (List<Shape> pair : PAIRS) {
      op("BroadcastArgs", longs(pair.get(0).dims()), longs(pair.get(1).dims()));
    }
    op("BroadcastArgs", ints(2, 3), ints(4)).fails(Code.INVALID_ARGUMENT);
    op("BroadcastGradientArgs", ints(2, 3, 1), ints(3, 4));
    op("BroadcastGradientArgs", ints(2, 3), ints(4)).fails(Code.INVALID_ARGUMENT);
  }
}
