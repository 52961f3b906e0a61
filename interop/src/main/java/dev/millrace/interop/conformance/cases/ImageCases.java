package dev.millrace.interop.conformance.cases;

import dev.millrace.base.Code;
import dev.millrace.interop.conformance.CaseTable;
import dev.millrace.interop.conformance.Kernels;
import dev.millrace.interop.conformance.OpCase;
import dev.millrace.interop.conformance.Values.Domain;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;

/** Images of other sizes and colours; convolution and pooling of volumes. */
public final class ImageCases extends CaseTable {
  private static final List<Long> ONES = List.of(1L, 1L, 1L, 1L, 1L);
  private static final List<Long> STEPS = List.of(1L, 2L, 1L, 2L, 1L);

  public ImageCases() {
    resize("ResizeBilinear");
    resize("ResizeNearestNeighbor");
    resize("ResizeArea");
    for (DType dtype : Kernels.types("ResizeBilinearGrad", "T")) {
      op("ResizeBilinearGrad", floats(2, 5, 3, 2), any(dtype, 2, 3, 4, 2)).noGradientBy(1);
      op("ResizeBilinearGrad", floats(1, 5, 3, 2), any(dtype, 1, 2, 4, 2))
          .with("half_pixel_centers", true)
          .noGradientBy(1);
    }
    op("ResizeBilinearGrad", floats(2, 5, 3), floats(2, 3, 4, 2)).fails(Code.INVALID_ARGUMENT);
    for (DType dtype : Kernels.types("ResizeNearestNeighborGrad", "T")) {
      op("ResizeNearestNeighborGrad", any(dtype, 2, 5, 3, 2), ints(3, 4)).fixed(1);
    }
    op("ResizeNearestNeighborGrad", floats(1, 5, 3, 2), ints(3)).fails(Code.INVALID_ARGUMENT);
    colours();
    boxes();
    volumes();
  }

  private void resize(String op) {
    for (DType dtype : Kernels.types(op, "T")) {
      sized(op, any(dtype, 2, 4, 3, 2), 6, 5);
      sized(op, any(dtype, 1, 4, 6, 1), 3, 2).with("align_corners", true);
      if (!op.equals("ResizeArea")) {
        sized(op, any(dtype, 1, 4, 6, 1), 7, 3).with("half_pixel_centers", true);
      }
    }
    sized(op, floats(1, 2, 2, 1), 1, 1).with("align_corners", true);
    sized(op, floats(0, 2, 2, 1), 3, 3);
    op(op, floats(1, 2, 2), ints(2, 2)).fails(Code.INVALID_ARGUMENT);
    op(op, floats(1, 2, 2, 1), ints(2)).fails(Code.INVALID_ARGUMENT);
    op(op, floats(1, 2, 2, 1), ints(0, 2)).fails(Code.INVALID_ARGUMENT);
  }

  private OpCase sized(String op, Tensor images, int height, int width) {
    OpCase c = op(op, images, ints(height, width)).fixed(1);
    return op.equals("ResizeArea") ? c.noGradient() : c;
  }

  private void colours() {
    for (String op : List.of("RGBToHSV", "HSVToRGB")) {
      for (DType dtype : Kernels.types(op, "T")) {
        op(op, values.of(Domain.POSITIVE, dtype, Shape.of(2, 4, 3))).slack(4).noGradient();
        op(op, any(dtype, 0, 3)).noGradient();
      }
      op(op, floats(2, 4)).fails(Code.FAILED_PRECONDITION);
    }
    for (String op : List.of("AdjustHue", "AdjustSaturation", "AdjustContrastv2")) {
      for (DType dtype : Kernels.types(op, "T")) {
        Tensor images = values.of(Domain.POSITIVE, dtype, Shape.of(2, 3, 2, 3));
        op(op, images, Tensor.scalar(0.25f)).slack(8).noGradient();
        op(op, any(dtype, 0, 2, 2, 3), Tensor.scalar(0.5f)).noGradient();
      }
      op(op, floats(2, 3), Tensor.scalar(0.5f)).fails(Code.INVALID_ARGUMENT);
      op(op, floats(2, 2, 3), floats(2)).fails(Code.INVALID_ARGUMENT);
    }
  }

  private void boxes() {
    Tensor boxes =
        Tensor.of(Shape.of(4, 4), 0f, 0, 1, 1, 0, 0.125f, 1, 1.125f, 1, 3, 0, 2, 0, 10, 1, 11);
    Tensor scores = Tensor.vector(0.75f, 0.875f, 0.5f, 0.625f);
    Tensor three = Tensor.scalar(3);
    Tensor half = Tensor.scalar(0.5f);
    op("NonMaxSuppression", boxes, scores, three).noGradient();
    op("NonMaxSuppressionV2", boxes, scores, three, half).noGradient();
    op("NonMaxSuppressionV3", boxes, scores, three, half, Tensor.scalar(0.55f)).noGradient();
    op("NonMaxSuppression", floats(0, 4), floats(0), three).noGradient();
    op("NonMaxSuppressionV2", floats(0, 4), floats(0), three, half).noGradient();
    op("NonMaxSuppressionV3", floats(0, 4), floats(0), three, half, half).noGradient();
    op("NonMaxSuppressionV3", boxes, floats(3), three, half, half).fails(Code.INVALID_ARGUMENT);
    op("NonMaxSuppressionV2", boxes, scores, three, Tensor.scalar(2f)).fails(Code.INVALID_ARGUMENT);
  }

  private void volumes() {
    for (String padding : List.of("SAME", "VALID")) {
      for (DType dtype : Kernels.types("Conv3D", "T")) {
        slide(op("Conv3D", any(dtype, 2, 3, 4, 3, 2), any(dtype, 2, 2, 1, 2, 3)), padding, ONES);
        slide(op("Conv3D", any(dtype, 1, 5, 4, 5, 1), any(dtype, 3, 1, 2, 1, 2)), padding, STEPS);
      }
      boolean same = padding.equals("SAME");
      Tensor dy = same ? doubles(1, 2, 4, 2, 3) : doubles(1, 2, 3, 2, 3);
      slide(
          op("Conv3DBackpropInputV2", ints(1, 4, 4, 4, 2), doubles(2, 2, 1, 2, 3), dy).fixed(0),
          padding,
          STEPS);
      slide(
          op("Conv3DBackpropFilterV2", doubles(1, 4, 4, 4, 2), ints(2, 2, 1, 2, 3), dy).fixed(1),
          padding,
          STEPS);
      for (DType dtype : List.of(DType.HALF, DType.FLOAT, DType.DOUBLE)) {
        Tensor small = same ? any(dtype, 1, 2, 4, 2, 3) : any(dtype, 1, 2, 3, 2, 3);
        Tensor filter = any(dtype, 2, 2, 1, 2, 3);
        slide(
            op("Conv3DBackpropInputV2", ints(1, 4, 4, 4, 2), filter, small).fixed(0),
            padding,
            STEPS);
        slide(
            op("Conv3DBackpropFilterV2", any(dtype, 1, 4, 4, 4, 2), ints(2, 2, 1, 2, 3), small)
                .fixed(1),
            padding,
            STEPS);
      }
      for (String op : List.of("MaxPool3D", "AvgPool3D")) {
        for (DType dtype : Kernels.types(op, "T")) {
          pool(op(op, distinct(dtype, 2, 4, 3, 4, 2)), padding);
        }
      }
      Tensor sizes = ints(2, 4, 3, 4, 2);
      for (DType dtype : Kernels.types("AvgPool3DGrad", "T")) {
        Tensor g = same ? any(dtype, 2, 2, 3, 2, 2) : any(dtype, 2, 2, 2, 2, 2);
        pool(op("AvgPool3DGrad", sizes, g).fixed(0), padding);
      }
      Tensor x = distinct(DType.FLOAT, 1, 2, 1, 2, 1);
      Tensor y = Tensor.allocate(DType.FLOAT, Shape.of(1, 1, 1, 1, 1));
      for (int i = 0; i < 4; i++) {
        y.setDouble(0, i == 0 ? x.doubleAt(0) : Math.max(y.doubleAt(0), x.doubleAt(i)));
      }
      op("MaxPool3DGrad", x, y, floats(1, 1, 1, 1, 1))
          .with("ksize", STEPS)
          .with("strides", STEPS)
          .with("padding", padding)
          .noGradient();
    }
    slide(op("Conv3D", floats(2, 3, 4), floats(1, 1, 1, 1, 1)), "SAME", ONES)
        .refused(Code.INVALID_ARGUMENT);
    slide(op("Conv3D", floats(1, 3, 3, 3, 2), floats(1, 1, 1, 3, 1)), "SAME", ONES)
        .refused(Code.INVALID_ARGUMENT);
    slide(
            op("Conv3DBackpropInputV2", ints(1, 4), floats(1, 1, 1, 1, 1), floats(1, 1, 1, 1, 1)),
            "SAME",
            ONES)
        .refused(Code.INVALID_ARGUMENT);
    slide(
            op("Conv3DBackpropFilterV2", floats(1, 1, 1, 1, 1), ints(1, 4), floats(1, 1, 1, 1, 1)),
            "SAME",
            ONES)
        .refused(Code.INVALID_ARGUMENT);
    pool(op("MaxPool3D", floats(2, 3, 4)), "SAME").refused(Code.INVALID_ARGUMENT);
    pool(op("AvgPool3D", floats(2, 3, 4)), "SAME").refused(Code.INVALID_ARGUMENT);
    pool(op("AvgPool3DGrad", ints(1, 2), floats(1, 1, 1, 1, 1)), "SAME")
        .refused(Code.INVALID_ARGUMENT);
    pool(op("MaxPool3DGrad", floats(1, 2), floats(1, 2), floats(1, 2)), "SAME")
        .refused(Code.INVALID_ARGUMENT);
  }

  private static OpCase slide(OpCase c, String padding, List<Long> strides) {
    return c.with("padding", padding).with("strides", strides).slack(8);
  }

  private static OpCase pool(OpCase c, String padding) {
    return c.with("padding", padding)
        .with("ksize", List.of(1L, 2L, 2L, 2L, 1L))
        .with("strides", STEPS)
        .slack(4);
  }
}
