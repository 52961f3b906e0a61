package dev.millrace.tensor.math.reduce;

import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.complex.Complex;
import dev.millrace.tensor.math.complex.ComplexElements;
import dev.millrace.tensor.math.elementwise.BroadcastIndex;
import java.util.Arrays;

/** Sums, means and products of complex elements. */
final class ComplexFold {
  private ComplexFold() {}

  /** Folds {@code x} over the dimensions marked in {@code over} into {@code y}. */
  static void run(Fold fold, Tensor x, boolean[] over, Tensor y) {
    if (fold == Fold.PROD) {
      product(x, over, y);
      return;
    }
    Tensor from = Refs.parts(x);
    Tensor to = Refs.parts(y);
    try {
      Reduce.run(fold, from, Arrays.copyOf(over, over.length + 1), to);
    } finally {
      Refs.release(from);
      Refs.release(to);
    }
  }

  private static void product(Tensor x, boolean[] over, Tensor y) {
    long[] kept = x.shape().dims();
    for (int i = 0; i < kept.length; i++) {
      kept[i] = over[i] ? 1 : kept[i];
    }
    Complex[] products = new Complex[Math.toIntExact(y.elements())];
    Arrays.fill(products, Complex.ONE);
    BroadcastIndex at = new BroadcastIndex(Shape.of(kept), x.shape());
    DType type = x.dtype();
    for (long i = 0; i < x.elements(); i++) {
      int k = (int) at.of(i);
      products[k] = products[k].times(ComplexElements.at(type, x.data(), i));
    }
    for (int k = 0; k < products.length; k++) {
      ComplexElements.set(type, y.data(), k, products[k]);
    }
  }
}
