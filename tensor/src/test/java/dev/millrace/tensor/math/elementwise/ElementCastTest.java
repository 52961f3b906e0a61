package dev.millrace.tensor.math.elementwise;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.Samples;
import org.junit.jupiter.api.Test;

class ElementCastTest {
  private static final float[] ODD = {
    Float.NaN, Float.POSITIVE_INFINITY, 1e20f, -3e9f, 3e9f, 300.7f, -300.7f, -2.9f, 1e10f, 1.8e19f
  };

  private final Samples samples = new Samples(3);

  private static Tensor cast(Tensor x, DType to, boolean truncate) {
    Tensor y = Tensor.allocate(to, x.shape());
    ElementCast.run(x, y, truncate);
    return y;
  }

  private static Tensor cast(Tensor x, DType to) {
    return cast(x, to, false);
  }

  /** The expected values are those of TensorFlow 2.21 on x86. */
  @Test
  void floatingToIntegerFollowsTensorFlow() {
    Tensor x = Tensor.vector(ODD);
    int min = Integer.MIN_VALUE;
    assertArrayEquals(
        new int[] {min, min, min, min, min, 300, -300, -2, min, min},
        cast(x, DType.INT32).toInts());
    assertArrayEquals(new int[] {0, 0, 0, 0, 0, 44, -44, -2, 0, 0}, cast(x, DType.INT8).toInts());
    assertArrayEquals(new int[] {0, 0, 0, 0, 0, 44, 212, 254, 0, 0}, cast(x, DType.UINT8).toInts());
    assertArrayEquals(
        new int[] {0, 0, 0, 0, 0, 300, 65236, 65534, 0, 0}, cast(x, DType.UINT16).toInts());
    long top = Long.MIN_VALUE;
    assertArrayEquals(
        new long[] {top, top, top, -3000000000L, 3000000000L, 300, -300, -2, 10000000000L, top},
        cast(x, DType.INT64).toLongs());
    assertArrayEquals(
        new long[] {
          0, 0, 0, 1294967296L, 3000000000L, 300, 4294966996L, 4294967294L, 1410065408L, 0
        },
        cast(x, DType.UINT32).toLongs());
    assertEquals("18000000404716257280", Long.toUnsignedString(cast(x, DType.UINT64).longAt(9)));
    assertArrayEquals(
        new long[] {1, 1, 1, 0}, cast(Tensor.vector(Float.NaN, 0.1f, -2, 0), DType.BOOL).toLongs());
  }

  /** The expected values are those of TensorFlow 2.21. */
  @Test
  void truncationDropsBitsInsteadOfRounding() {
    Tensor x = Tensor.vector(1.00390625f, 65520f, 1.9999999f, -3.1415927f);
    assertArrayEquals(new float[] {1, 65536, 2, -3.140625f}, cast(x, DType.BFLOAT16).toFloats());
    assertArrayEquals(
        new float[] {1, 65280, 1.9921875f, -3.140625f}, cast(x, DType.BFLOAT16, true).toFloats());
    assertArrayEquals(
        new float[] {1.00390625f, Float.POSITIVE_INFINITY, 2, -3.140625f},
        cast(x, DType.HALF).toFloats());
    assertArrayEquals(
        new float[] {1.00390625f, 65504, 1.9990234375f, -3.140625f},
        cast(x, DType.HALF, true).toFloats());
    Tensor y = Tensor.vector(-3.14159265, 1.9999999999);
    assertArrayEquals(new float[] {-3.1415925f, 1.9999999f}, cast(y, DType.FLOAT, true).toFloats());
  }

  @Test
  void largeIntegersAreRoundedOnce() {
    Tensor x = Tensor.vector(16777217L, (1L << 62) + (1L << 38) + 1, -7L);
    assertArrayEquals(
        new float[] {16777216f, (float) ((1L << 62) + (1L << 38) + 1), -7f},
        cast(x, DType.FLOAT).toFloats());
    Tensor u = Tensor.vector(-1L).bitcast(DType.UINT64);
    assertEquals(18446744073709551616f, cast(u, DType.FLOAT).floatValue());
    assertEquals(0x1p64, cast(u, DType.DOUBLE).doubleValue());
  }

  @Test
  void complexHasARealPart() {
    Tensor c = cast(Tensor.vector(1.5f, -2f), DType.COMPLEX64);
    assertArrayEquals(new float[] {1.5f, -2f}, cast(c, DType.FLOAT).toFloats());
    Tensor wide = cast(c, DType.COMPLEX128);
    assertArrayEquals(new double[] {1.5, -2}, cast(wide, DType.DOUBLE).toDoubles());
  }

  @Test
  void everyPairOfRealTypesKeepsSmallNumbers() {
    for (DType from : DType.REAL) {
      for (DType to : DType.REAL) {
        for (int n : Samples.LENGTHS) {
          Tensor x = Tensor.allocate(from, Shape.of(n));
          for (int i = 0; i < n; i++) {
            x.setLong(i, samples.below(120));
          }
          assertArrayEquals(x.toDoubles(), cast(x, to).toDoubles(), from + " to " + to);
        }
      }
    }
  }

  @Test
  void floatsSurviveTheWayThroughWiderTypes() {
    Tensor x = samples.of(DType.FLOAT, Shape.of(5000));
    assertArrayEquals(x.toFloats(), cast(cast(x, DType.DOUBLE), DType.FLOAT).toFloats());
    Tensor h = cast(x, DType.HALF);
    assertArrayEquals(h.toFloats(), cast(cast(h, DType.FLOAT), DType.HALF).toFloats());
  }

  @Test
  void stringsAreRefused() {
    MillraceException e =
        assertThrows(MillraceException.class, () -> cast(Tensor.vector("1"), DType.FLOAT));
    assertEquals(Code.UNIMPLEMENTED, e.code());
  }
}
