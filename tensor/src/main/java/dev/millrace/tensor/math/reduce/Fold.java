package dev.millrace.tensor.math.reduce;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import java.util.function.DoubleBinaryOperator;
import java.util.function.LongBinaryOperator;

/**
 * Folds of a tensor over some of its dimensions. Nothing folds to the identity: 0 for a sum, 1 for
 * a product, the smallest value of the type for a maximum; the mean of nothing is NaN. Types such
 * as half are folded as float and rounded once.
 */
public enum Fold {
  SUM(Double::sum, Long::sum),

  /** The sum divided by the number of elements; integers are cut towards zero. */
  MEAN(Double::sum, Long::sum),
  PROD((x, y) -> x * y, (x, y) -> x * y),

  /** NaN if any element is. */
  MAX(Math::max, Math::max),

  /** NaN if any element is. */
  MIN(Math::min, Math::min),

  /** Of bool elements only. */
  ALL(null, (x, y) -> x & y),

  /** Of bool elements only. */
  ANY(null, (x, y) -> x | y);

  private final DoubleBinaryOperator real;
  private final LongBinaryOperator whole;

  Fold(DoubleBinaryOperator real, LongBinaryOperator whole) {
    this.real = real;
    this.whole = whole;
  }

  /** Whether elements of this type can be folded. */
  public boolean supports(DType type) {
    return switch (this) {
      case ALL, ANY -> type == DType.BOOL;
      case SUM, MEAN, PROD -> DType.NUMERIC.contains(type);
      case MAX, MIN -> DType.REAL.contains(type);
    };
  }

  /** Two elements combined, the definition for floating types. */
  public double of(double x, double y) {
    return real.applyAsDouble(x, y);
  }

  /** Two elements combined, the definition for integers and, as 0 or 1, bool. */
  public long of(long x, long y) {
    return whole.applyAsLong(x, y);
  }

  /**
   * Folds {@code x} over the dimensions marked in {@code over} into {@code y}, which has an element
   * for each combination of the others.
   */
  public void run(Tensor x, boolean[] over, Tensor y) {
    if (!supports(x.dtype())) {
      throw new MillraceException(
          Code.UNIMPLEMENTED, this + " is not defined for elements of type " + x.dtype() + ".");
    }
    if (x.dtype().isComplex()) {
      ComplexFold.run(this, x, over, y);
    } else {
      Reduce.run(this, x, over, y);
    }
  }

  /** Half the sum of the squares of all elements, of a floating type. */
  public static void halfSquares(Tensor x, Tensor y) {
    Reduce.halfSquares(x, y);
  }

  /** What changes no element of this type when combined with it. */
  Number identity(DType type) {
    return switch (this) {
      case SUM, MEAN, ANY -> 0L;
      case PROD, ALL -> 1L;
      case MAX ->
          switch (type) {
            case FLOAT, DOUBLE -> Double.NEGATIVE_INFINITY;
            case INT32 -> (long) Integer.MIN_VALUE;
            case UINT64 -> 0L;
            default -> Long.MIN_VALUE;
          };
      case MIN ->
          switch (type) {
            case FLOAT, DOUBLE -> Double.POSITIVE_INFINITY;
            case INT32 -> (long) Integer.MAX_VALUE;
            case UINT64 -> -1L;
            default -> Long.MAX_VALUE;
          };
    };
  }
}
