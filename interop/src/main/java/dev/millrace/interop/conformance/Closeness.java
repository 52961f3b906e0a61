package dev.millrace.interop.conformance;

import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Tensor;
import java.util.Arrays;
import java.util.Optional;

/** When two tensors count as the same. */
final class Closeness {
  private Closeness() {}

  /**
   * The first difference, if there is one. Whole numbers, truths and strings must be equal, NaN is
   * equal to NaN, and a floating number may be off by some of its last bits, those of the largest
   * finite one among the expected.
   */
  static Optional<String> difference(Tensor expected, Tensor actual, double slack) {
    if (expected.dtype() != actual.dtype()) {
      return Optional.of("type %s, should be %s".formatted(actual.dtype(), expected.dtype()));
    }
    if (!expected.shape().equals(actual.shape())) {
      return Optional.of("shape %s, should be %s".formatted(actual.shape(), expected.shape()));
    }
    if (expected.dtype().isComplex()) {
      return difference(parts(expected), parts(actual), slack);
    }
    double relative = slack * relative(expected.dtype());
    double absolute = relative * largest(expected) / 8;
    for (long i = 0; i < expected.elements(); i++) {
      if (!same(expected, actual, i, relative, absolute)) {
        return Optional.of(
            "element %d of %s is %s, should be %s"
                .formatted(i, expected.shape(), shown(actual, i), shown(expected, i)));
      }
    }
    return Optional.empty();
  }

  /** The parts of complex numbers, as real numbers. */
  private static Tensor parts(Tensor t) {
    return Refs.handle(Refs.parts(t));
  }

  private static boolean same(Tensor e, Tensor a, long i, double relative, double absolute) {
    if (e.dtype() == DType.STRING) {
      return Arrays.equals(e.bytesAt(i), a.bytesAt(i));
    }
    if (!e.dtype().isFloating()) {
      return e.longAt(i) == a.longAt(i);
    }
    double x = e.doubleAt(i);
    double y = a.doubleAt(i);
    if (!Double.isFinite(x) || !Double.isFinite(y)) {
      return x == y || (Double.isNaN(x) && Double.isNaN(y));
    }
    return Math.abs(x - y) <= absolute + relative * Math.abs(x);
  }

  private static double relative(DType dtype) {
    return switch (dtype) {
      case HALF -> 2e-3;
      case BFLOAT16 -> 1.6e-2;
      case FLOAT -> 4e-6;
      case DOUBLE -> 4e-14;
      default -> 0;
    };
  }

  private static double largest(Tensor t) {
    double max = 0;
    if (t.dtype().isFloating()) {
      for (long i = 0; i < t.elements(); i++) {
        double v = Math.abs(t.doubleAt(i));
        max = Double.isFinite(v) ? Math.max(max, v) : max;
      }
    }
    return max;
  }

  private static Object shown(Tensor t, long i) {
    return t.dtype() == DType.STRING
        ? "\"" + t.stringAt(i) + "\""
        : t.dtype().isFloating() ? (Object) t.doubleAt(i) : (Object) t.longAt(i);
  }
}
