package dev.millrace.ops.accumulator;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.elementwise.AddScaled;
import dev.millrace.tensor.math.elementwise.BinaryOp;
import dev.millrace.tensor.math.elementwise.Elementwise;

/** Sums whole tensors. */
final class DenseAccumulator extends GradientAccumulator {
  /** Null until the first gradient of a step. */
  private Tensor sum;

  DenseAccumulator(Spec spec) {
    super(spec);
  }

  @Override
  void add(KernelContext c, int before) {
    Tensor gradient = c.input(2);
    Shape expected = sum == null ? spec().shape() : sum.shape();
    if (!expected.isCompatibleWith(gradient.shape())) {
      throw MillraceException.invalid(
          "%s '%s': Shape mismatch: expected %s, got %s.",
          kind(), spec().name(), expected, gradient.shape());
    }
    if (sum == null) {
      sum = Refs.copy(gradient);
    } else {
      AddScaled.to(sum, gradient, 1);
    }
  }

  @Override
  Delivery reduce(int n) {
    Tensor taken = sum;
    sum = null;
    return c -> {
      if (spec().mean() && n > 1) {
        divide(taken, n);
      }
      c.output(0, taken);
    };
  }

  /** Divides in place. */
  static void divide(Tensor t, int n) {
    Tensor by = Refs.allocate(t.dtype(), Shape.scalar());
    try {
      by.setDouble(0, n);
      Elementwise.binary(BinaryOp.DIV, t, by, t);
    } finally {
      Refs.release(by);
    }
  }

  @Override
  void clear() {
    if (sum != null) {
      Refs.release(sum);
      sum = null;
    }
  }
}
