package dev.millrace.interop.conformance;

import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.complex.Complex;
import dev.millrace.tensor.math.complex.ComplexElements;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;

/**
 * Random tensors for cases, the same for the same seed. Floating values are multiples of 1/64 that
 * every floating type holds exactly, unless said otherwise; nothing is denormal, which TensorFlow
 * takes for zero.
 */
public final class Values {
  /** A number whose exponential is infinite, and of whose square all of a float is left. */
  private static final double LARGE = 1e3;

  private static final double[] SPECIAL = {
    Double.NaN,
    Double.POSITIVE_INFINITY,
    Double.NEGATIVE_INFINITY,
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -2.5,
    LARGE,
    -LARGE,
    3.0
  };

  /** Of half, a number whose exponential and sums of whose squares are finite. */
  private static final double LARGE_HALF = 10;

  private final Random random;

  Values(long seed) {
    random = new Random(seed);
  }

  /** Reseeds for {@code subject}, so that its values do not depend on other cases. */
  public void beginFor(String subject) {
    random.setSeed(subject.hashCode());
  }

  /** What numbers an op is given. */
  public enum Domain {
    /** Between -2 and 2, or small integers of either sign where the type has them. */
    ANY,
    /** Above 0. */
    POSITIVE,
    /** Anything but 0. */
    NONZERO,
    /** Between -0.9 and 0.9. */
    FRACTION,
    /** All different, and so far apart that a finite difference changes no order. */
    DISTINCT,
    /** Multiples of 1/8, none of which is DISTINCT too. */
    EIGHTHS,
    /** NaN, both infinities, both zeros, halves, large numbers; the ends of whole ones. */
    SPECIAL
  }

  public Tensor any(DType dtype, long... dims) {
    return of(Domain.ANY, dtype, Shape.of(dims));
  }

  public Tensor of(Domain domain, DType dtype, Shape shape) {
    int n = (int) shape.elements();
    if (dtype == DType.STRING) {
      String[] words = new String[n];
      for (int i = 0; i < n; i++) {
        words[i] = "w" + random.nextInt(5);
      }
      return Tensor.of(shape, words);
    }
    Tensor t = Tensor.allocate(dtype, shape);
    List<Integer> order = new ArrayList<>();
    for (int i = 0; i < n; i++) {
      order.add(i);
    }
    Collections.shuffle(order, random);
    for (int i = 0; i < n; i++) {
      if (dtype == DType.BOOL) {
        t.setLong(i, random.nextInt(2));
      } else if (dtype.isFloating()) {
        double v = real(domain, order.get(i), n);
        boolean isLarge = dtype == DType.HALF && Math.abs(v) == LARGE;
        t.setDouble(i, isLarge ? Math.copySign(LARGE_HALF, v) : v);
      } else if (dtype.isComplex()) {
        Complex v = new Complex(real(domain, order.get(i), n), real(domain, order.get(i), n));
        ComplexElements.set(dtype, t.data(), i, v);
      } else {
        t.setLong(i, whole(domain, dtype, order.get(i), n));
      }
    }
    return t;
  }

  private double real(Domain domain, int rank, int n) {
    return switch (domain) {
      case ANY -> (random.nextInt(257) - 128) / 64.0;
      case POSITIVE -> (1 + random.nextInt(128)) / 64.0;
      case NONZERO -> (1 + random.nextInt(128)) / 64.0 * (random.nextBoolean() ? 1 : -1);
      case FRACTION -> (random.nextInt(115) - 57) / 64.0;
      case DISTINCT -> (rank - n / 2) / 8.0 + 1 / 64.0;
      case EIGHTHS -> (random.nextInt(33) - 16) / 8.0;
      case SPECIAL -> SPECIAL[random.nextInt(SPECIAL.length)];
    };
  }

  private long whole(Domain domain, DType dtype, int rank, int n) {
    boolean unsigned = dtype.isUnsigned();
    return switch (domain) {
      case ANY, FRACTION, EIGHTHS -> random.nextInt(9) - (unsigned ? 0 : 4);
      case POSITIVE -> 1 + random.nextInt(5);
      case NONZERO -> (1L + random.nextInt(5)) * (unsigned || random.nextBoolean() ? 1 : -1);
      case DISTINCT -> unsigned ? rank : rank - n / 2;
      case SPECIAL -> extreme(dtype);
    };
  }

  /** Next to zero, or to where the sign of a number of this type changes. */
  private long extreme(DType dtype) {
    long end = random.nextBoolean() ? 0 : 1L << 8 * dtype.bytes() - 1;
    return end + random.nextInt(5) - 2;
  }

  /** Integers from {@code low} to below {@code high}. */
  public Tensor between(DType dtype, int low, int high, long... dims) {
    Tensor t = Tensor.allocate(dtype, Shape.of(dims));
    for (long i = 0; i < t.elements(); i++) {
      t.setLong(i, low + random.nextInt(high - low));
    }
    return t;
  }

  /** Rows that are each a probability distribution. */
  public Tensor distributions(DType dtype, long rows, int classes) {
    Tensor t = Tensor.allocate(dtype, Shape.of(rows, classes));
    for (long r = 0; r < rows; r++) {
      double left = 1;
      for (int c = 0; c < classes; c++) {
        double p = c == classes - 1 ? left : left / 2;
        t.setDouble(r * classes + c, p);
        left -= p;
      }
    }
    return t;
  }

  /** The same number in every element. */
  public static Tensor filled(DType dtype, double value, long... dims) {
    Tensor t = Tensor.allocate(dtype, Shape.of(dims));
    for (long i = 0; i < t.elements(); i++) {
      t.setDouble(i, value);
    }
    return t;
  }

  private static double number(Tensor t, int i) {
    return switch (t.dtype()) {
      case STRING -> t.bytesAt(i).length;
      case COMPLEX64, COMPLEX128 -> ComplexElements.at(t.dtype(), t.data(), i).re();
      default -> t.doubleAt(i);
    };
  }

  /**
   * The same numbers in another type, in the same order. Fractions become whole numbers four times
   * as large, and whole numbers from 0 on where the type has no others.
   */
  public static Tensor retyped(Tensor t, DType to) {
    int n = (int) t.elements();
    boolean counts = t.dtype().isFloating() && !to.isFloating() && !to.isComplex();
    double[] numbers = new double[n];
    for (int i = 0; i < n; i++) {
      double v = number(t, i);
      numbers[i] =
          !counts ? v : to.isUnsigned() ? Math.max(0, 16 + Math.rint(4 * v)) : Math.rint(4 * v);
    }
    if (to == DType.STRING) {
      return Tensor.of(
          t.shape(), Arrays.stream(numbers).mapToObj(v -> "w" + v).toArray(String[]::new));
    }
    Tensor other = Tensor.allocate(to, t.shape());
    for (int i = 0; i < n; i++) {
      if (to.isFloating() || to.isComplex()) {
        other.setDouble(i, numbers[i]);
      } else {
        other.setLong(i, to == DType.BOOL ? (numbers[i] > 0 ? 1 : 0) : (long) numbers[i]);
      }
    }
    return other;
  }
}
