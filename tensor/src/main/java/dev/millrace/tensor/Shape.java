package dev.millrace.tensor;

import dev.millrace.base.MillraceException;
import java.util.Arrays;

/**
 * The dimensions of a tensor, or what is known of them before it exists: a dimension may be {@link
 * #UNKNOWN}, and so may the rank itself. The shape of a tensor that exists is always fully known.
 */
public final class Shape {
  /** Stands for a dimension whose size is not known yet. */
  public static final long UNKNOWN = -1;

  private static final Shape SCALAR = new Shape(new long[0]);
  private static final Shape UNKNOWN_RANK = new Shape(null);

  /** Null when the rank is unknown. */
  private final long[] dims;

  private final long elements;

  private Shape(long[] dims) {
    this.dims = dims;
    this.elements = dims == null ? UNKNOWN : product(dims);
  }

  private static long product(long[] dims) {
    long n = 1;
    boolean unknown = false;
    for (long d : dims) {
      if (d < 0) {
        unknown = true;
      } else {
        try {
          n = Math.multiplyExact(n, d);
        } catch (ArithmeticException e) {
          throw MillraceException.invalid(
              "Shape %s has more elements than 2^63.", Arrays.toString(dims));
        }
      }
    }
    return unknown ? UNKNOWN : n;
  }

  /** A shape with these dimensions; {@link #UNKNOWN} where the size is not known. */
  public static Shape of(long... dims) {
    if (dims.length == 0) {
      return SCALAR;
    }
    for (long d : dims) {
      if (d < UNKNOWN) {
        throw MillraceException.invalid(
            "Shape %s: a dimension is %d; it must be 0 or more, or -1 for unknown.",
            Arrays.toString(dims), d);
      }
    }
    return new Shape(dims.clone());
  }

  /** The shape of a single value. */
  public static Shape scalar() {
    return SCALAR;
  }

  /** The shape nothing is known of. */
  public static Shape unknown() {
    return UNKNOWN_RANK;
  }

  /** A shape of known rank whose dimensions are all unknown. */
  public static Shape unknownOfRank(int rank) {
    long[] d = new long[rank];
    Arrays.fill(d, UNKNOWN);
    return of(d);
  }

  /** Whether the number of dimensions is known. */
  public boolean hasRank() {
    return dims != null;
  }

  /** Number of dimensions; -1 if unknown. */
  public int rank() {
    return dims == null ? -1 : dims.length;
  }

  /** Size of dimension {@code i}; negative {@code i} counts from the end. */
  public long dim(int i) {
    return dims == null ? UNKNOWN : dims[i < 0 ? i + dims.length : i];
  }

  /** A copy of the dimensions. The rank must be known. */
  public long[] dims() {
    return dims.clone();
  }

  /** Number of elements; -1 unless every dimension is known. */
  public long elements() {
    return elements;
  }

  /** Whether every dimension is known. */
  public boolean isKnown() {
    return elements >= 0;
  }

  /** Whether this is known to be the shape of a single value. */
  public boolean isScalar() {
    return dims != null && dims.length == 0;
  }

  /** Whether a tensor of shape {@code other} could have this shape: unknown matches anything. */
  public boolean isCompatibleWith(Shape other) {
    if (dims == null || other.dims == null) {
      return true;
    }
    if (dims.length != other.dims.length) {
      return false;
    }
    for (int i = 0; i < dims.length; i++) {
      if (dims[i] >= 0 && other.dims[i] >= 0 && dims[i] != other.dims[i]) {
        return false;
      }
    }
    return true;
  }

  /** What both shapes know together. Throws if they contradict each other. */
  public Shape mergeWith(Shape other) {
    if (!isCompatibleWith(other)) {
      throw MillraceException.invalid("Shapes %s and %s do not agree.", this, other);
    }
    if (dims == null) {
      return other;
    }
    if (other.dims == null) {
      return this;
    }
    long[] d = dims.clone();
    for (int i = 0; i < d.length; i++) {
      d[i] = d[i] >= 0 ? d[i] : other.dims[i];
    }
    return of(d);
  }

  /** This shape with dimension {@code axis} replaced. */
  public Shape withDim(int axis, long size) {
    if (dims == null) {
      return this;
    }
    long[] d = dims.clone();
    d[axis < 0 ? axis + d.length : axis] = size;
    return of(d);
  }

  /** Dimensions {@code from} (inclusive) to {@code to} (exclusive). */
  public Shape slice(int from, int to) {
    return dims == null ? this : of(Arrays.copyOfRange(dims, from, to));
  }

  /** These dimensions followed by those of {@code other}. */
  public Shape concat(Shape other) {
    if (dims == null || other.dims == null) {
      return UNKNOWN_RANK;
    }
    long[] d = Arrays.copyOf(dims, dims.length + other.dims.length);
    System.arraycopy(other.dims, 0, d, dims.length, other.dims.length);
    return of(d);
  }

  /**
   * The shape of an elementwise result of {@code a} and {@code b} under TensorFlow's broadcasting
   * rule. Throws if a dimension differs and neither is 1.
   */
  public static Shape broadcast(Shape a, Shape b) {
    if (a.equals(b) && a.isKnown()) {
      return a;
    }
    if (a.dims == null || b.dims == null) {
      return UNKNOWN_RANK;
    }
    int rank = Math.max(a.dims.length, b.dims.length);
    long[] d = new long[rank];
    for (int i = 1; i <= rank; i++) {
      long x = i <= a.dims.length ? a.dims[a.dims.length - i] : 1;
      long y = i <= b.dims.length ? b.dims[b.dims.length - i] : 1;
      long r;
      if (x == y || y == 1) {
        r = x;
      } else if (x == 1) {
        r = y;
      } else if (x < 0 || y < 0) {
        // An unknown size against n > 1 can only be 1 or n.
        r = Math.max(x, y);
      } else {
        throw MillraceException.invalid(
            "Incompatible shapes: %s vs. %s. Dimensions must be equal or 1, from the last.", a, b);
      }
      d[rank - i] = r;
    }
    return of(d);
  }

  /** Dimensions equal position by position, with unknown equal only to unknown. */
  @Override
  public boolean equals(Object o) {
    return o == this || (o instanceof Shape s && Arrays.equals(dims, s.dims));
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(dims);
  }

  /** TensorFlow's form: {@code [100,784]}, {@code [?,10]}, {@code <unknown>}. */
  @Override
  public String toString() {
    if (dims == null) {
      return "<unknown>";
    }
    StringBuilder s = new StringBuilder("[");
    for (int i = 0; i < dims.length; i++) {
      s.append(i == 0 ? "" : ",").append(dims[i] < 0 ? "?" : Long.toString(dims[i]));
    }
    return s.append(']').toString();
  }
}
