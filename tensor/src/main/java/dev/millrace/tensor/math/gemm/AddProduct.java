package dev.millrace.tensor.math.gemm;

import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.elementwise.Formula;
import dev.millrace.tensor.math.elementwise.Recipe;
import dev.millrace.tensor.math.elementwise.Walk;
import dev.millrace.tensor.math.lanes.LaneType;
import java.lang.foreign.MemorySegment;

/** Adds a scaled matrix product to a matrix, without a product in memory in between. */
public final class AddProduct {
  private static final Recipe SCALE = Recipe.map(1, Formula.X.times(Formula.parameter(0)));

  private AddProduct() {}

  /**
   * {@code sum += scale * op(a) op(b)}, where op transposes or does nothing; all three float or
   * double. {@code sum} may not overlap the others.
   */
  public static void run(
      Tensor a, boolean transA, Tensor b, boolean transB, double scale, Tensor sum) {
    Tensor small = a.elements() < b.elements() ? a : b;
    Tensor scaled = Refs.allocate(small.dtype(), small.shape());
    try {
      LaneType lane = LaneType.of(small.dtype());
      Walk.run(small.shape(), SCALE, lane, new double[] {scale}, small, scaled);
      Gemm.run(
          sum.dtype(),
          transA,
          transB,
          Math.toIntExact(sum.shape().dim(0)),
          Math.toIntExact(sum.shape().dim(1)),
          Math.toIntExact(a.shape().dim(transA ? 0 : 1)),
          small == a ? scaled.data() : a.data(),
          small == b && small != a ? scaled.data() : b.data(),
          sum.data(),
          true);
    } finally {
      Refs.release(scaled);
    }
  }

  /** Whether two tensors have memory in common. */
  public static boolean overlap(Tensor x, Tensor y) {
    MemorySegment s = x.data();
    MemorySegment t = y.data();
    return s.address() < t.address() + t.byteSize() && t.address() < s.address() + s.byteSize();
  }
}
