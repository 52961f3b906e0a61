package dev.millrace.ops.rearrange;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.ShapeContext;
import dev.millrace.ops.array.ZerosLike;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.OrderedBits;
import java.util.List;

/** Where values belong in sorted rows, in a histogram, or in a shape. */
final class SortedSearch {
  private static final String REASON = "positions are piecewise constant";

  static final Op HISTOGRAM =
      Op.define("HistogramFixedWidth")
          .attr("T: {int32, int64, float, double}")
          .attr("dtype: {int32, int64} = int32")
          .input("values: T")
          .input("value_range: T")
          .input("nbins: int32")
          .output("out: dtype")
          .shape(SortedSearch::inferHistogram)
          .kernel(SortedSearch::histogram)
          .noGradient(REASON)
          .build();

  static final Op UNRAVEL =
      Op.define("UnravelIndex")
          .attr("Tidx: {int32, int64} = int32")
          .input("indices: Tidx")
          .input("dims: Tidx")
          .output("output: Tidx")
          .shape(SortedSearch::inferUnravel)
          .kernel(SortedSearch::unravel)
          .noGradient(REASON)
          .build();

  static final List<Op> ALL =
      List.of(bound("LowerBound", false), bound("UpperBound", true), HISTOGRAM, UNRAVEL);

  private SortedSearch() {}

  private static Op bound(String name, boolean upper) {
    return Op.define(name)
        .attr("T: type")
        .attr("out_type: {int32, int64} = int32")
        .input("sorted_inputs: T")
        .input("values: T")
        .output("output: out_type")
        .shape(
            c -> {
              c.inputOfRank(0, 2);
              return List.of(c.inputOfRank(1, 2));
            })
        .kernelPerNode(node -> search(node, upper))
        .noGradient(REASON)
        .build();
  }

  private static Kernel search(Node node, boolean upper) {
    DType type = node.input(0).dtype();
    if (!DType.REAL.contains(type)) {
      throw new MillraceException(
          dev.millrace.base.Code.UNIMPLEMENTED,
          node.op().name() + " '" + node.name() + "' cannot search " + type + " here.");
    }
    return c -> {
      Tensor sorted = c.input(0);
      Tensor values = c.input(1);
      if (sorted.shape().rank() != 2 || values.shape().rank() != 2) {
        throw MillraceException.invalid(
            "sorted input argument and values must be matrices: %s, %s",
            sorted.shape(), values.shape());
      }
      long rows = sorted.shape().dim(0);
      if (values.shape().dim(0) != rows) {
        throw MillraceException.invalid(
            "Leading dim_size of both tensors must match: %s, %s", sorted.shape(), values.shape());
      }
      long n = sorted.shape().dim(1);
      long m = values.shape().dim(1);
      Tensor out = c.allocate(0, values.shape());
      for (long i = 0; i < values.elements(); i++) {
        long wanted = OrderedBits.at(values, i);
        long begin = i / Math.max(1, m) * n;
        long low = 0;
        long high = n;
        while (low < high) {
          long middle = (low + high) >>> 1;
          long v = OrderedBits.at(sorted, begin + middle);
          if (v < wanted || (upper && v == wanted)) {
            low = middle + 1;
          } else {
            high = middle;
          }
        }
        out.setLong(i, low);
      }
    };
  }

  private static List<Shape> inferHistogram(ShapeContext c) {
    Shape range = c.inputOfRank(1, 1);
    if (range.dim(0) >= 0 && range.dim(0) != 2) {
      throw MillraceException.invalid(
          "value_range should be a vector of 2 elements, got %s", range);
    }
    c.inputOfRank(2, 0);
    Tensor bins = c.constant(2);
    if (bins != null && bins.longAt(0) <= 0) {
      throw MillraceException.invalid("Requires nbins > 0: %d", bins.longAt(0));
    }
    return List.of(Shape.of(bins == null ? Shape.UNKNOWN : bins.longAt(0)));
  }

  private static void histogram(KernelContext c) {
    Tensor values = c.input(0);
    Tensor range = c.input(1);
    if (range.shape().rank() != 1 || range.elements() != 2) {
      throw MillraceException.invalid(
          "value_range should be a vector of 2 elements, got %s", range.shape());
    }
    if (!c.input(2).shape().isScalar()) {
      throw MillraceException.invalid("nbins must be a scalar, got %s", c.input(2).shape());
    }
    long bins = c.input(2).longAt(0);
    if (bins <= 0) {
      throw MillraceException.invalid("nbins should be a positive number, but got '%d'", bins);
    }
    boolean isWhole = values.dtype().isIntegral();
    double low = isWhole ? range.longAt(0) : range.doubleAt(0);
    double high = isWhole ? range.longAt(1) : range.doubleAt(1);
    if (!(low < high)) {
      throw MillraceException.invalid(
          "value_range should satisfy value_range[0] < value_range[1], but got '[%s, %s]'",
          low, high);
    }
    double step = (high - low) / bins;
    if (values.dtype() == DType.FLOAT) {
      step = (float) (high - low) / bins;
    }
    Tensor out = c.allocate(0, Shape.of(bins));
    ZerosLike.clear(out);
    for (long i = 0; i < values.elements(); i++) {
      double v = isWhole ? values.longAt(i) : values.doubleAt(i);
      if (Double.isNaN(v)) {
        throw MillraceException.invalid("values must not contain NaN, got NaN at index %d", i);
      }
      double place =
          values.dtype() == DType.FLOAT
              ? (float) ((float) (Math.max(v, low) - low) / step)
              : (Math.max(v, low) - low) / step;
      long bin = (long) Math.min((double) (bins - 1), Math.floor(place));
      out.setLong(bin, out.longAt(bin) + 1);
    }
  }

  private static List<Shape> inferUnravel(ShapeContext c) {
    Shape indices = c.input(0);
    Shape dims = c.inputOfRank(1, 1);
    if (!indices.hasRank()) {
      return List.of(indices);
    }
    return List.of(Shape.of(dims.dim(0)).concat(indices));
  }

  private static void unravel(KernelContext c) {
    Tensor indices = c.input(0);
    Tensor dims = c.input(1);
    if (indices.shape().rank() > 1 || dims.shape().rank() != 1) {
      throw MillraceException.invalid(
          "The indices can only be scalar or 1-D and the dims 1-D, got %s and %s",
          indices.shape(), dims.shape());
    }
    if (indices.elements() == 0) {
      throw MillraceException.invalid("received empty tensor indices: %s", indices.shape());
    }
    int rank = Math.toIntExact(dims.elements());
    long size = 1;
    for (int d = 0; d < rank; d++) {
      if (dims.longAt(d) <= 0) {
        throw MillraceException.invalid("Input dims cannot contain a dim of %d.", dims.longAt(d));
      }
      size = Math.multiplyExact(size, dims.longAt(d));
    }
    Tensor out = c.allocate(0, Shape.of(rank).concat(indices.shape()));
    for (long i = 0; i < indices.elements(); i++) {
      long rest = indices.longAt(i);
      if (rest < 0 || rest >= size) {
        throw MillraceException.invalid(
            "index is out of bound as with dims: %d is not below %d", rest, size);
      }
      for (int d = rank - 1; d >= 0; d--) {
        out.setLong(d * indices.elements() + i, rest % dims.longAt(d));
        rest /= dims.longAt(d);
      }
    }
  }
}
