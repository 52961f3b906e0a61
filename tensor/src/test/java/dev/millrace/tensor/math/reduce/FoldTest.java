package dev.millrace.tensor.math.reduce;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.Parallel;
import dev.millrace.tensor.math.Samples;
import dev.millrace.tensor.math.elementwise.BroadcastIndex;
import dev.millrace.tensor.math.elementwise.TensorFill;
import java.util.EnumSet;
import java.util.Set;
import java.util.stream.DoubleStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class FoldTest {
  private static final Set<DType> TYPES =
      EnumSet.of(
          DType.FLOAT,
          DType.DOUBLE,
          DType.HALF,
          DType.BFLOAT16,
          DType.INT32,
          DType.INT64,
          DType.UINT8,
          DType.INT16,
          DType.UINT32,
          DType.BOOL);

  private static final Shape[] SHAPES = {
    Shape.scalar(),
    Shape.of(0),
    Shape.of(1),
    Shape.of(37),
    Shape.of(130),
    Shape.of(5, 3),
    Shape.of(3, 70),
    Shape.of(0, 4),
    Shape.of(4, 0),
    Shape.of(2, 3, 17),
    Shape.of(67, 2, 65),
    Shape.of(2, 3, 1, 4, 5),
  };

  private final Samples samples = new Samples(11);

  @ParameterizedTest
  @EnumSource
  void everySetOfAxesIsReducedByDefinition(Fold op) {
    for (DType type : TYPES) {
      if (!op.supports(type)) {
        continue;
      }
      for (Shape shape : SHAPES) {
        for (int set = 0; set < 1 << shape.rank(); set++) {
          check(op, type, shape, set);
        }
      }
    }
  }

  private void check(Fold op, DType type, Shape shape, int set) {
    Tensor x = samples.finite(type, shape);
    boolean[] reduced = new boolean[shape.rank()];
    Shape kept = shape;
    for (int d = 0; d < reduced.length; d++) {
      reduced[d] = (set >> d & 1) != 0;
      kept = reduced[d] ? kept.withDim(d, 1) : kept;
    }
    DType wide = type == DType.HALF || type == DType.BFLOAT16 ? DType.FLOAT : type;
    Number start = op.identity(wide);
    double[] real = new double[(int) kept.elements()];
    double[] size = new double[real.length];
    long[] whole = new long[real.length];
    long[] count = new long[real.length];
    java.util.Arrays.fill(real, start.doubleValue());
    java.util.Arrays.fill(whole, start.longValue());
    BroadcastIndex index = new BroadcastIndex(kept, shape);
    for (long i = 0; i < x.elements(); i++) {
      int k = (int) index.of(i);
      count[k]++;
      if (type.isFloating()) {
        real[k] = op.of(real[k], x.doubleAt(i));
        size[k] += Math.abs(x.doubleAt(i));
      } else {
        whole[k] = op.of(whole[k], x.longAt(i));
      }
    }
    Tensor y = Tensor.allocate(type, kept);
    op.run(x, reduced, y);
    for (int k = 0; k < real.length; k++) {
      String what = op + " of " + type + shape + " over set " + set + " at " + k;
      if (type.isFloating()) {
        double expected = op == Fold.MEAN ? real[k] / count[k] : real[k];
        double scale = op == Fold.SUM ? size[k] : op == Fold.MEAN ? size[k] / count[k] : 0;
        double ulps = op == Fold.PROD ? Math.max(4, count[k]) : 4;
        Samples.assertUlps(type, expected, y.doubleAt(k), scale, ulps, () -> what);
      } else {
        long all = op == Fold.MEAN ? (count[k] == 0 ? 0 : whole[k] / count[k]) : whole[k];
        Tensor wrapped = Tensor.allocate(type, Shape.scalar());
        wrapped.setLong(0, all);
        assertEquals(wrapped.longAt(0), y.longAt(k), what);
      }
    }
  }

  @Test
  void extremesOfUint64AreUnsigned() {
    Tensor x = Tensor.allocate(DType.UINT64, Shape.of(2, 7));
    for (int i = 0; i < 14; i++) {
      x.setLong(i, i < 7 ? 3 + i : -3 - i);
    }
    Tensor y = Tensor.allocate(DType.UINT64, Shape.of(2));
    Fold.MAX.run(x, new boolean[] {false, true}, y);
    assertArrayEquals(new long[] {9, -10}, y.toLongs());
    Fold.MIN.run(x, new boolean[] {false, true}, y);
    assertArrayEquals(new long[] {3, -16}, y.toLongs());
    Tensor columns = Tensor.allocate(DType.UINT64, Shape.of(7));
    Fold.MAX.run(x, new boolean[] {true, false}, columns);
    assertEquals(-10, columns.longAt(0));
  }

  @Test
  void sumsOfManyElementsStayAccurate() {
    int n = 1_000_003;
    Tensor x = Tensor.allocate(DType.FLOAT, Shape.of(n));
    double sum = 0;
    for (int i = 0; i < n; i++) {
      x.setDouble(i, 0.1f + i % 7);
      sum += x.doubleAt(i);
    }
    Tensor y = Tensor.allocate(DType.FLOAT, Shape.scalar());
    Fold.SUM.run(x, new boolean[] {true}, y);
    Samples.assertUlps(DType.FLOAT, sum, y.doubleValue(), 0, 3, () -> "sum of a million");
    Tensor columns = x.reshaped(Shape.of(n, 1));
    Fold.SUM.run(columns, new boolean[] {true, false}, y);
    Samples.assertUlps(DType.FLOAT, sum, y.doubleValue(), 0, 3, () -> "column of a million");
    Tensor tall = Tensor.allocate(DType.FLOAT, Shape.of(100_000, 3));
    TensorFill.with(Tensor.scalar(0.1f), tall);
    Tensor three = Tensor.allocate(DType.FLOAT, Shape.of(3));
    Fold.SUM.run(tall, new boolean[] {true, false}, three);
    Samples.assertUlps(DType.FLOAT, 100_000 * (double) 0.1f, three.doubleAt(2), 0, 3, () -> "tall");
  }

  @Test
  void sumsAreTheSameOnAnyNumberOfThreads() {
    Tensor x = samples.finite(DType.FLOAT, Shape.of(7, 50_021));
    int before = Parallel.threads();
    try {
      for (int axis = 0; axis < 2; axis++) {
        boolean[] reduced = {axis == 0, axis == 1};
        Tensor alone = Tensor.allocate(DType.FLOAT, Shape.of(x.shape().dim(1 - axis)));
        Tensor shared = Tensor.allocate(DType.FLOAT, alone.shape());
        Parallel.setThreads(1);
        Fold.SUM.run(x, reduced, alone);
        Parallel.setThreads(3);
        Fold.SUM.run(x, reduced, shared);
        assertArrayEquals(alone.toFloats(), shared.toFloats());
      }
    } finally {
      Parallel.setThreads(before);
    }
  }

  @Test
  void maximumAndMinimumOfNaNIsNaN() {
    float[] values = new float[40];
    values[23] = Float.NaN;
    Tensor y = Tensor.allocate(DType.FLOAT, Shape.scalar());
    for (Fold op : EnumSet.of(Fold.MAX, Fold.MIN, Fold.SUM)) {
      op.run(Tensor.vector(values), new boolean[] {true}, y);
      assertTrue(Float.isNaN(y.floatValue()), op.toString());
    }
  }

  @Test
  void nothingGivesTheIdentity() {
    Tensor empty = Tensor.allocate(DType.FLOAT, Shape.of(0));
    Tensor y = Tensor.allocate(DType.FLOAT, Shape.scalar());
    Fold.MAX.run(empty, new boolean[] {true}, y);
    assertEquals(Float.NEGATIVE_INFINITY, y.floatValue());
    Fold.PROD.run(empty, new boolean[] {true}, y);
    assertEquals(1, y.floatValue());
    Fold.MEAN.run(empty, new boolean[] {true}, y);
    assertTrue(Float.isNaN(y.floatValue()));
    Tensor none = Tensor.allocate(DType.INT32, Shape.of(0));
    Tensor z = Tensor.allocate(DType.INT32, Shape.scalar());
    Fold.MIN.run(none, new boolean[] {true}, z);
    assertEquals(Integer.MAX_VALUE, z.intValue());
  }

  @Test
  void unsignedLongsAreNotNegative() {
    Tensor x = Tensor.vector(-1L, 5L, 7L).bitcast(DType.UINT64);
    Tensor y = Tensor.allocate(DType.UINT64, Shape.scalar());
    Fold.MAX.run(x, new boolean[] {true}, y);
    assertEquals(-1L, y.longValue());
    Fold.MIN.run(x, new boolean[] {true}, y);
    assertEquals(5L, y.longValue());
    Fold.MEAN.run(Tensor.vector(-1L, 0L, 0L).bitcast(DType.UINT64), new boolean[] {true}, y);
    assertEquals(Long.divideUnsigned(-1, 3), y.longValue());
  }

  @Test
  void halfSquaresIsHalfTheSumOfSquares() {
    for (DType type : DType.FLOATING) {
      for (int n : new int[] {0, 1, 3, 40, 5000}) {
        Tensor x = samples.finite(type, Shape.of(n));
        double sum = DoubleStream.of(x.toDoubles()).map(v -> v * v).sum();
        Tensor y = Tensor.allocate(type, Shape.scalar());
        Fold.halfSquares(x, y);
        Samples.assertUlps(type, sum / 2, y.doubleValue(), 0, 4, () -> type + " " + n);
      }
    }
  }

  @Test
  void typesWithoutTheFoldAreRefused() {
    Tensor x = Tensor.allocate(DType.BOOL, Shape.of(2));
    MillraceException e =
        assertThrows(MillraceException.class, () -> Fold.SUM.run(x, new boolean[] {true}, x));
    assertEquals(Code.UNIMPLEMENTED, e.code());
  }
}
