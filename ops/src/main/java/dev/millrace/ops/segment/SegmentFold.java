package dev.millrace.ops.segment;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.complex.Complex;
import dev.millrace.tensor.math.complex.ComplexElements;

/** How the rows of a segment become one. */
enum SegmentFold {
  MAX,
  MIN,
  PROD,
  SUM;

  /** Refuses a node of a type that no loop here computes on. */
  static void requireType(Node node) {
    DType type = node.typeAttr("T");
    if (!DType.NUMERIC.contains(type)) {
      throw new MillraceException(
          Code.UNIMPLEMENTED,
          "%s '%s' cannot compute on %s here.".formatted(node.op().name(), node.name(), type));
    }
  }

  /** Fills {@code out} with what a segment without rows has, in TensorFlow's unsorted ops. */
  void fill(Tensor out) {
    for (long i = 0; i < out.elements(); i++) {
      if (this == PROD) {
        put(out, i, 1);
      } else if (out.dtype().isFloating()) {
        out.setDouble(i, this == MAX ? -largest(out.dtype()) : largest(out.dtype()));
      } else {
        out.setLong(i, bound(out.dtype()));
      }
    }
  }

  /** Sets element {@code i} to a whole number. */
  static void put(Tensor out, long i, int v) {
    if (out.dtype().isComplex()) {
      ComplexElements.set(out.dtype(), out.data(), i, new Complex(v, 0));
    } else {
      out.setLong(i, v);
    }
  }

  /** Divides element {@code i} by a count. */
  static void divide(Tensor t, long i, long by) {
    if (t.dtype().isComplex()) {
      Complex v = ComplexElements.at(t.dtype(), t.data(), i);
      ComplexElements.set(t.dtype(), t.data(), i, new Complex(v.re() / by, v.im() / by));
    } else if (t.dtype().isFloating()) {
      t.setDouble(i, t.doubleAt(i) / by);
    } else if (t.dtype().isUnsigned()) {
      t.setLong(i, Long.divideUnsigned(t.longAt(i), by));
    } else {
      t.setLong(i, t.longAt(i) / by);
    }
  }

  private static double largest(DType type) {
    return switch (type) {
      case HALF -> 65504;
      case BFLOAT16 -> Tensor.bfloat16ToFloat((short) 0x7F7F);
      case FLOAT -> Float.MAX_VALUE;
      default -> Double.MAX_VALUE;
    };
  }

  private long bound(DType type) {
    int bits = 8 * type.bytes();
    if (type.isUnsigned()) {
      return this == MAX ? 0 : bits == 64 ? -1L : (1L << bits) - 1;
    }
    long max = Long.MAX_VALUE >>> (64 - bits);
    return this == MAX ? -max - 1 : max;
  }

  /** Takes a row of {@code data} into a row of {@code out}. */
  void take(Tensor out, long to, Tensor data, long from, long length) {
    boolean isFloating = data.dtype().isFloating();
    boolean isUnsigned = data.dtype().isUnsigned();
    for (long k = 0; k < length; k++) {
      if (data.dtype().isComplex()) {
        Complex a = ComplexElements.at(out.dtype(), out.data(), to + k);
        Complex b = ComplexElements.at(out.dtype(), data.data(), from + k);
        Complex v = this == PROD ? a.times(b) : a.plus(b);
        ComplexElements.set(out.dtype(), out.data(), to + k, v);
      } else if (isFloating) {
        out.setDouble(to + k, of(out.doubleAt(to + k), data.doubleAt(from + k)));
      } else {
        out.setLong(to + k, of(out.longAt(to + k), data.longAt(from + k), isUnsigned));
      }
    }
  }

  private double of(double a, double b) {
    return switch (this) {
      // Where either is no number the later one stays, as in TensorFlow.
      case MAX -> b < a ? a : b;
      case MIN -> a < b ? a : b;
      case PROD -> a * b;
      case SUM -> a + b;
    };
  }

  private long of(long a, long b, boolean isUnsigned) {
    int order = isUnsigned ? Long.compareUnsigned(a, b) : Long.compare(a, b);
    return switch (this) {
      case MAX -> order < 0 ? b : a;
      case MIN -> order < 0 ? a : b;
      case PROD -> a * b;
      case SUM -> a + b;
    };
  }
}
