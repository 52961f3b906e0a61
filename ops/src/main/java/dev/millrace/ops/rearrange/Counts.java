package dev.millrace.ops.rearrange;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.ShapeContext;
import dev.millrace.ops.array.ZerosLike;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;

/** How often each number from 0 on occurs, or the sums of the weights beside it. */
final class Counts {
  private static final String WHY = "TensorFlow defines none";

  static final Op OP =
      Op.define("Bincount")
          .attr("T: {int32, int64, float, double}")
          .input("arr: int32")
          .input("size: int32")
          .input("weights: T")
          .output("bins: T")
          .shape(c -> List.of(Shape.of(bins(c))))
          .kernel(Counts::ofAll)
          .noGradient(WHY)
          .build();

  /** Of each row of a matrix, or of a vector; {@code binary_output} says only what occurs. */
  static final Op DENSE =
      Op.define("DenseBincount")
          .attr("Tidx: {int32, int64}")
          .attr("T: {int32, int64, float, double}")
          .attr("binary_output: bool = false")
          .input("input: Tidx")
          .input("size: Tidx")
          .input("weights: T")
          .output("output: T")
          .shape(
              c -> {
                Shape in = c.input(0);
                long n = bins(c);
                return List.of(
                    !in.hasRank()
                        ? Shape.unknown()
                        : in.rank() == 1 ? Shape.of(n) : Shape.of(c.inputOfRank(0, 2).dim(0), n));
              })
          .kernel(Counts::ofRows)
          .noGradient(WHY)
          .build();

  private Counts() {}

  private static long bins(ShapeContext c) {
    Tensor size = c.constant(1);
    if (size == null) {
      return Shape.UNKNOWN;
    }
    return size(size);
  }

  private static long size(Tensor size) {
    if (size.elements() != 1) {
      throw MillraceException.invalid("Shape must be rank 0 but is rank %d", size.shape().rank());
    }
    if (size.longAt(0) < 0) {
      throw MillraceException.invalid("size (%d) must be non-negative", size.longAt(0));
    }
    return size.longAt(0);
  }

  private static void ofAll(KernelContext c) {
    count(c, 1, false);
  }

  private static void ofRows(KernelContext c) {
    Shape in = c.input(0).shape();
    if (in.rank() > 2) {
      throw MillraceException.invalid("Shape must be at most rank 2 but is rank %d", in.rank());
    }
    count(c, in.rank() == 2 ? in.dim(0) : 1, c.node().booleanAttr("binary_output"));
  }

  private static void count(KernelContext c, long rows, boolean onlyWhether) {
    Tensor in = c.input(0);
    Tensor weights = c.input(2);
    long n = size(c.input(1));
    boolean isMatrix = c.node().op() == DENSE && in.shape().rank() == 2;
    if (weights.elements() > 0 && !weights.shape().equals(in.shape())) {
      throw MillraceException.invalid(
          "`weights` must be the same shape as `arr` or a length-0 `Tensor`, in which case it acts"
              + " as all weights equal to 1. Received %s",
          weights.shape());
    }
    Tensor out = c.allocate(0, isMatrix ? Shape.of(rows, n) : Shape.of(n));
    ZerosLike.clear(out);
    long each = rows == 0 ? 0 : in.elements() / rows;
    for (long i = 0; i < in.elements(); i++) {
      long value = in.longAt(i);
      if (value < 0) {
        throw MillraceException.invalid("Input must be non-negative");
      }
      if (value >= n) {
        continue;
      }
      long at = i / each * n + value;
      if (onlyWhether) {
        out.setLong(at, 1);
      } else if (out.dtype().isFloating()) {
        out.setDouble(at, out.doubleAt(at) + (weights.elements() > 0 ? weights.doubleAt(i) : 1));
      } else {
        out.setLong(at, out.longAt(at) + (weights.elements() > 0 ? weights.longAt(i) : 1));
      }
    }
  }
}
