package dev.millrace.ops.rearrange;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Gradient;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.ShapeContext;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.StridedCopy;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The distinct slices of a tensor along one dimension, in order of appearance. */
final class UniqueRows {
  static final List<Op> ALL =
      List.of(define("UniqueV2", false), define("UniqueWithCountsV2", true));

  private UniqueRows() {}

  private static Op define(String name, boolean counts) {
    Op.Builder op =
        Op.define(name)
            .attr("T: type")
            .attr("Taxis: {int32, int64} = int64")
            .attr("out_idx: {int32, int64} = int32")
            .input("x: T")
            .input("axis: Taxis")
            .output("y: T")
            .output("idx: out_idx");
    if (counts) {
      op.output("count: out_idx");
    }
    return op.shape(c -> infer(c, counts))
        .kernel(c -> compute(c, counts))
        .gradient(Gradient.undefined("TensorFlow defines none"))
        .build();
  }

  private static List<Shape> infer(ShapeContext c, boolean counts) {
    Shape x = c.input(0);
    Shape y = x.hasRank() ? Shape.unknownOfRank(x.rank()) : x;
    Shape some = Shape.of(Shape.UNKNOWN);
    return counts ? List.of(y, some, some) : List.of(y, some);
  }

  private static void compute(KernelContext c, boolean counts) {
    Tensor x = c.input(0);
    Tensor axes = c.input(1);
    Shape s = x.shape();
    if (axes.elements() > 1) {
      throw MillraceException.invalid("axis does not support input tensors larger than 1 elements");
    }
    if (axes.elements() == 0 && s.rank() != 1) {
      throw MillraceException.invalid("unique expects a 1D vector.");
    }
    long axis = axes.elements() == 0 ? 0 : axes.longAt(0);
    axis = axis < 0 ? axis + s.rank() : axis;
    if (axis < 0 || axis >= s.rank()) {
      throw MillraceException.invalid("axis has to be between [0, %d)", s.rank());
    }
    int d = (int) axis;
    int n = Math.toIntExact(s.dim(d));
    long outer = s.slice(0, d).elements();
    long inner = s.slice(d + 1, s.rank()).elements();
    Map<List<Object>, Integer> seen = new HashMap<>();
    List<Integer> first = new ArrayList<>();
    int[] count = new int[n];
    Tensor idx = c.allocate(1, Shape.of(n));
    for (int i = 0; i < n; i++) {
      List<Object> key = new ArrayList<>();
      for (long o = 0; o < outer; o++) {
        for (long k = 0; k < inner; k++) {
          key.add(element(x, (o * n + i) * inner + k));
        }
      }
      Integer number = seen.putIfAbsent(key, first.size());
      if (number == null) {
        number = first.size();
        first.add(i);
      }
      count[number]++;
      idx.setLong(i, number);
    }
    Tensor y = c.allocate(0, s.withDim(d, first.size()));
    for (long o = 0; o < outer; o++) {
      for (int k = 0; k < first.size(); k++) {
        StridedCopy.copyRun(
            x, (o * n + first.get(k)) * inner, y, (o * first.size() + k) * inner, inner);
      }
    }
    if (counts) {
      Tensor out = c.allocate(2, Shape.of(first.size()));
      for (int k = 0; k < first.size(); k++) {
        out.setLong(k, count[k]);
      }
    }
  }

  /** What compares as the element does; a NaN is like no other. */
  private static Object element(Tensor x, long i) {
    return switch (x.dtype()) {
      case STRING -> ByteBuffer.wrap(x.bytesAt(i));
      case HALF, BFLOAT16, FLOAT, DOUBLE -> {
        double v = x.doubleAt(i);
        yield Double.isNaN(v) ? new Object() : (Object) (v + 0.0);
      }
      case COMPLEX64, COMPLEX128, RESOURCE, VARIANT ->
          throw MillraceException.invalid("%s cannot be compared here.", x.dtype());
      default -> x.longAt(i);
    };
  }
}
