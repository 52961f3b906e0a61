package dev.millrace.ops.image;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Gradient;
import dev.millrace.graph.GradientContext;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.NodeBuilder;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.ShapeContext;
import dev.millrace.ops.array.ShapeOf;
import dev.millrace.ops.array.StridedSlice;
import dev.millrace.ops.math.Cast;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;

/** Images of other sizes: by two neighbours in each dimension, by the nearest one, by means. */
final class Resize {
  private static final String TYPES =
      "T: {int8, uint8, int16, uint16, int32, int64, half, float, double, bfloat16}";

  static final Op BILINEAR =
      define("ResizeBilinear", true)
          .output("resized_images: float")
          .shape(Resize::infer)
          .kernel(Resize::bilinear)
          .gradient(
              g -> {
                Output x = g.input(0);
                NodeBuilder b = g.scope().node("ResizeBilinearGrad").input(g.dy()).input(x);
                g.dx(0, attributed(b, g));
              })
          .build();

  static final Op BILINEAR_GRAD =
      Op.define("ResizeBilinearGrad")
          .attr("T: {float, bfloat16, half, double}")
          .attr("align_corners: bool = false")
          .attr("half_pixel_centers: bool = false")
          .input("grads: float")
          .input("original_image: T")
          .output("output: T")
          .shape(c -> List.of(c.inputOfRank(1, 4)))
          .kernel(Resize::bilinearGradient)
          .gradient(
              g -> {
                Scope s = g.scope();
                Output dy = Cast.of(s, g.dy(), DType.FLOAT);
                NodeBuilder b = s.node("ResizeBilinear").input(dy).input(size(s, g.input(0)));
                g.dx(0, attributed(b, g));
              })
          .build();

  static final Op NEAREST =
      define("ResizeNearestNeighbor", true)
          .output("resized_images: T")
          .shape(Resize::infer)
          .kernel(Resize::nearest)
          .gradient(
              g -> {
                Scope s = g.scope();
                NodeBuilder b =
                    s.node("ResizeNearestNeighborGrad").input(g.dy()).input(size(s, g.input(0)));
                g.dx(0, attributed(b, g));
              })
          .build();

  static final Op NEAREST_GRAD =
      Op.define("ResizeNearestNeighborGrad")
          .attr("T: {uint8, int8, int32, half, float, double, bfloat16}")
          .attr("align_corners: bool = false")
          .attr("half_pixel_centers: bool = false")
          .input("grads: T")
          .input("size: int32")
          .output("output: T")
          .shape(Resize::infer)
          .kernel(Resize::nearestGradient)
          .gradient(
              g -> {
                Scope s = g.scope();
                NodeBuilder b =
                    s.node("ResizeNearestNeighbor").input(g.dy()).input(size(s, g.input(0)));
                g.dx(0, attributed(b, g));
              })
          .build();

  static final Op AREA =
      define("ResizeArea", false)
          .output("resized_images: float")
          .shape(Resize::infer)
          .kernel(Resize::area)
          .gradient(Gradient.undefined("TensorFlow defines none"))
          .build();

  static final List<Op> ALL = List.of(BILINEAR, BILINEAR_GRAD, NEAREST, NEAREST_GRAD, AREA);

  private Resize() {}

  private static Op.Builder define(String name, boolean hasCentres) {
    Op.Builder op = Op.define(name).attr(TYPES).attr("align_corners: bool = false");
    if (hasCentres) {
      op.attr("half_pixel_centers: bool = false");
    }
    return op.input("images: T").input("size: int32");
  }

  private static Output attributed(NodeBuilder b, GradientContext g) {
    return b.attr("align_corners", g.node().attr("align_corners"))
        .attr("half_pixel_centers", g.node().attr("half_pixel_centers"))
        .add()
        .output();
  }

  /** Height and width of images. */
  private static Output size(Scope s, Output images) {
    return StridedSlice.range(s, ShapeOf.of(s, images), 1, 3);
  }

  private static List<Shape> infer(ShapeContext c) {
    Shape x = c.inputOfRank(0, 4);
    Shape size = c.inputOfRank(1, 1);
    if (size.dim(0) >= 0 && size.dim(0) != 2) {
      throw MillraceException.invalid("size must have 2 elements, not %d", size.dim(0));
    }
    Shape hw = c.constantAsShape(1);
    return List.of(
        hw.hasRank()
            ? Shape.of(x.dim(0), hw.dim(0), hw.dim(1), x.dim(3))
            : Shape.of(x.dim(0), Shape.UNKNOWN, Shape.UNKNOWN, x.dim(3)));
  }

  /** The shape of the result, checked. */
  private static Shape resized(Tensor images, Tensor size) {
    Shape s = images.shape();
    if (s.rank() != 4) {
      throw MillraceException.invalid("input must be 4-dimensional: %s", s);
    }
    if (size.shape().rank() != 1 || size.elements() != 2) {
      throw MillraceException.invalid(
          "shape_t must be 1-dimensional with 2 elements: %s", size.shape());
    }
    if (size.longAt(0) <= 0 || size.longAt(1) <= 0) {
      throw MillraceException.invalid(
          "output dimensions must be positive: %d, %d", size.longAt(0), size.longAt(1));
    }
    Shape result = Shape.of(s.dim(0), size.longAt(0), size.longAt(1), s.dim(3));
    if (s.dim(1) == 0 || s.dim(2) == 0) {
      throw MillraceException.invalid("input image must be of non-zero size: %s", s);
    }
    return result;
  }

  private static Scale rows(KernelContext c, Shape from, Shape to) {
    return new Scale(
        (int) from.dim(1), (int) to.dim(1), Scale.corners(c.node()), Scale.half(c.node()));
  }

  private static Scale columns(KernelContext c, Shape from, Shape to) {
    return new Scale(
        (int) from.dim(2), (int) to.dim(2), Scale.corners(c.node()), Scale.half(c.node()));
  }

  private static long at(Shape s, long b, int y, int x) {
    return ((b * s.dim(1) + y) * s.dim(2) + x) * s.dim(3);
  }

  private static double value(Tensor t, long i) {
    return t.dtype().isIntegral() ? t.longAt(i) : t.doubleAt(i);
  }

  private static void bilinear(KernelContext c) {
    Tensor in = c.input(0);
    Shape from = in.shape();
    Shape to = resized(in, c.input(1));
    Tensor out = c.allocate(0, to);
    Scale rows = rows(c, from, to);
    Scale columns = columns(c, from, to);
    for (long b = 0; b < to.dim(0); b++) {
      for (int y = 0; y < to.dim(1); y++) {
        float down = rows.weight(y);
        for (int x = 0; x < to.dim(2); x++) {
          float right = columns.weight(x);
          long topLeft = at(from, b, rows.lower(y), columns.lower(x));
          long topRight = at(from, b, rows.lower(y), columns.upper(x));
          long left = at(from, b, rows.upper(y), columns.lower(x));
          long bottomRight = at(from, b, rows.upper(y), columns.upper(x));
          long place = at(to, b, y, x);
          for (int k = 0; k < to.dim(3); k++) {
            float a = (float) value(in, topLeft + k);
            float above = a + ((float) value(in, topRight + k) - a) * right;
            float e = (float) value(in, left + k);
            float below = e + ((float) value(in, bottomRight + k) - e) * right;
            out.setDouble(place + k, above + (below - above) * down);
          }
        }
      }
    }
  }

  private static void bilinearGradient(KernelContext c) {
    Tensor dy = c.input(0);
    Shape from = c.input(1).shape();
    Shape to = dy.shape();
    if (to.rank() != 4
        || from.rank() != 4
        || to.dim(0) != from.dim(0)
        || to.dim(3) != from.dim(3)) {
      throw MillraceException.invalid(
          "grads and original_image must be images of one batch: %s, %s", to, from);
    }
    Tensor out = c.allocate(0, from);
    double[] dx = new double[Math.toIntExact(from.elements())];
    Scale rows = rows(c, from, to);
    Scale columns = columns(c, from, to);
    for (long b = 0; b < to.dim(0); b++) {
      for (int y = 0; y < to.dim(1); y++) {
        float down = rows.weight(y);
        for (int x = 0; x < to.dim(2); x++) {
          float right = columns.weight(x);
          int topLeft = (int) at(from, b, rows.lower(y), columns.lower(x));
          int topRight = (int) at(from, b, rows.lower(y), columns.upper(x));
          int left = (int) at(from, b, rows.upper(y), columns.lower(x));
          int bottomRight = (int) at(from, b, rows.upper(y), columns.upper(x));
          long place = at(to, b, y, x);
          for (int k = 0; k < to.dim(3); k++) {
            float g = (float) dy.doubleAt(place + k);
            // In float whatever the type of the images, as TensorFlow has it.
            dx[topLeft + k] += g * (1 - down) * (1 - right);
            dx[topRight + k] += g * (1 - down) * right;
            dx[left + k] += g * down * (1 - right);
            dx[bottomRight + k] += g * down * right;
          }
        }
      }
    }
    for (int i = 0; i < dx.length; i++) {
      out.setDouble(i, dx[i]);
    }
  }

  private static void nearest(KernelContext c) {
    Tensor in = c.input(0);
    Shape from = in.shape();
    Shape to = resized(in, c.input(1));
    Tensor out = c.allocate(0, to);
    Scale rows = rows(c, from, to);
    Scale columns = columns(c, from, to);
    for (long b = 0; b < to.dim(0); b++) {
      for (int y = 0; y < to.dim(1); y++) {
        for (int x = 0; x < to.dim(2); x++) {
          long source = at(from, b, rows.nearest(y), columns.nearest(x));
          dev.millrace.tensor.math.StridedCopy.copyRun(in, source, out, at(to, b, y, x), to.dim(3));
        }
      }
    }
  }

  private static void nearestGradient(KernelContext c) {
    Tensor dy = c.input(0);
    Shape to = dy.shape();
    Shape from = resized(dy, c.input(1));
    Tensor out = c.allocate(0, from);
    double[] dx = new double[Math.toIntExact(from.elements())];
    Scale rows = rows(c, from, to);
    Scale columns = columns(c, from, to);
    for (long b = 0; b < to.dim(0); b++) {
      for (int y = 0; y < to.dim(1); y++) {
        for (int x = 0; x < to.dim(2); x++) {
          int place = (int) at(from, b, rows.nearest(y), columns.nearest(x));
          for (int k = 0; k < to.dim(3); k++) {
            dx[place + k] += value(dy, at(to, b, y, x) + k);
          }
        }
      }
    }
    for (int i = 0; i < dx.length; i++) {
      if (out.dtype().isIntegral()) {
        out.setLong(i, (long) dx[i]);
      } else {
        out.setDouble(i, dx[i]);
      }
    }
  }

  private static void area(KernelContext c) {
    Tensor in = c.input(0);
    Shape from = in.shape();
    Shape to = resized(in, c.input(1));
    Tensor out = c.allocate(0, to);
    Scale rows = rows(c, from, to);
    Scale columns = columns(c, from, to);
    double all = 1.0 / (rows.step() * columns.step());
    double[] sums = new double[Math.toIntExact(to.dim(3))];
    for (long b = 0; b < to.dim(0); b++) {
      for (int y = 0; y < to.dim(1); y++) {
        for (int x = 0; x < to.dim(2); x++) {
          java.util.Arrays.fill(sums, 0);
          int lastRow = (int) Math.ceil(rows.begin(y + 1));
          int lastColumn = (int) Math.ceil(columns.begin(x + 1));
          for (int i = (int) Math.floor(rows.begin(y)); i < lastRow; i++) {
            for (int j = (int) Math.floor(columns.begin(x)); j < lastColumn; j++) {
              double share = (double) rows.share(y, i) * columns.share(x, j) * all;
              int row = Math.min(i, (int) from.dim(1) - 1);
              int column = Math.min(j, (int) from.dim(2) - 1);
              long source = at(from, b, row, column);
              for (int k = 0; k < sums.length; k++) {
                sums[k] += share * value(in, source + k);
              }
            }
          }
          long place = at(to, b, y, x);
          for (int k = 0; k < sums.length; k++) {
            out.setDouble(place + k, sums[k]);
          }
        }
      }
    }
  }
}
