package dev.millrace.tensor.math;

import static org.junit.jupiter.api.Assertions.fail;

import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.Random;
import java.util.function.Supplier;

/** Tensors to try loops on, and what it means for their results to be close enough. */
public final class Samples {
  /** Lengths around the number of lanes of a vector. */
  public static final List<Integer> LENGTHS = List.of(0, 1, 2, 7, 8, 9, 15, 16, 17, 33, 100);

  private static final double[] SPECIAL = {
    Double.NaN,
    Double.POSITIVE_INFINITY,
    Double.NEGATIVE_INFINITY,
    0.0,
    -0.0,
    0.5,
    -0.5,
    1.5,
    2.5,
    -2.5,
    1,
    -1,
    6,
    1e-10
  };

  private final Random random;

  public Samples(long seed) {
    random = new Random(seed);
  }

  /** Elements of moderate size, with every special value among them if there is room. */
  public Tensor of(DType type, Shape shape) {
    Tensor t = Tensor.allocate(type, shape);
    for (long i = 0; i < t.elements(); i++) {
      if (type == DType.BOOL) {
        t.setLong(i, random.nextInt(2));
      } else if (type.isFloating()) {
        t.setDouble(i, random.nextInt(4) == 0 ? special() : random.nextGaussian() * 3);
      } else {
        t.setLong(i, random.nextInt(8) == 0 ? random.nextLong() : random.nextInt(41) - 20);
      }
    }
    return t;
  }

  /** Elements of moderate size without NaN and infinities. */
  public Tensor finite(DType type, Shape shape) {
    Tensor t = Tensor.allocate(type, shape);
    for (long i = 0; i < t.elements(); i++) {
      if (type.isFloating()) {
        t.setDouble(i, random.nextGaussian());
      } else {
        t.setLong(i, random.nextInt(41) - 20);
      }
    }
    return t;
  }

  public int below(int bound) {
    return random.nextInt(bound);
  }

  private double special() {
    return SPECIAL[random.nextInt(SPECIAL.length)];
  }

  /**
   * Fails unless {@code actual} is {@code expected}, rounded to this type, but for so many units in
   * the last place of a number of size {@code scale}.
   */
  public static void assertUlps(
      DType type,
      double expected,
      double actual,
      double scale,
      double ulps,
      Supplier<String> what) {
    double nearest = round(type, expected);
    if (nearest == actual || Double.isNaN(nearest) && Double.isNaN(actual)) {
      return;
    }
    double size = Math.max(Math.abs(nearest), Double.isFinite(scale) ? Math.abs(scale) : 0);
    double error = Math.abs(expected - actual) / ulp(type, size);
    if (!(error <= ulps)) {
      fail(what.get() + ": expected " + nearest + ", got " + actual + ", off by " + error + " ulp");
    }
  }

  static double round(DType type, double v) {
    return switch (type) {
      case FLOAT -> (float) v;
      case HALF -> Float.float16ToFloat(Float.floatToFloat16((float) v));
      case BFLOAT16 -> Tensor.bfloat16ToFloat(Tensor.floatToBfloat16((float) v));
      default -> v;
    };
  }

  private static double ulp(DType type, double v) {
    return switch (type) {
      case DOUBLE -> Math.ulp(v);
      case FLOAT -> Math.ulp((float) v);
      case HALF -> Math.max(Math.ulp((float) v) * 0x1p13, 0x1p-24);
      case BFLOAT16 -> Math.ulp((float) v) * 0x1p16;
      default -> 0;
    };
  }
}
