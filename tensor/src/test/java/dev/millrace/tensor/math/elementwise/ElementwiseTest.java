package dev.millrace.tensor.math.elementwise;

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
import java.util.EnumSet;
import java.util.Set;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class ElementwiseTest {
  private static final Set<DType> TYPES =
      EnumSet.of(
          DType.FLOAT,
          DType.DOUBLE,
          DType.HALF,
          DType.BFLOAT16,
          DType.INT32,
          DType.INT64,
          DType.INT8,
          DType.UINT8,
          DType.INT16,
          DType.UINT32,
          DType.UINT64,
          DType.BOOL);

  /** Shapes of two operands that broadcast together. */
  private static final Shape[][] PAIRS = {
    {Shape.of(37), Shape.of(37)},
    {Shape.of(5, 33), Shape.of(5, 33)},
    {Shape.of(37), Shape.scalar()},
    {Shape.scalar(), Shape.of(37)},
    {Shape.scalar(), Shape.scalar()},
    {Shape.of(6, 10), Shape.of(10)},
    {Shape.of(10), Shape.of(6, 10)},
    {Shape.of(6, 10), Shape.of(6, 1)},
    {Shape.of(6, 1), Shape.of(1, 21)},
    {Shape.of(2, 3, 17), Shape.of(3, 1)},
    {Shape.of(2, 1, 5, 1), Shape.of(3, 1, 20)},
    {Shape.of(4, 1, 3), Shape.of(4, 7, 3)},
    {Shape.of(0, 3), Shape.of(3)},
    {Shape.of(1, 1), Shape.of(1)},
    {Shape.of(2, 2500), Shape.of(2500)},
    {Shape.of(2, 1), Shape.of(2, 2500)},
  };

  private final Samples samples = new Samples(7);

  @ParameterizedTest
  @EnumSource
  void unaryLoopsComputeTheirDefinition(UnaryOp op) {
    for (DType type : TYPES) {
      if (!op.supports(type)) {
        continue;
      }
      for (int n : Samples.LENGTHS) {
        Tensor x = samples.of(type, Shape.of(n));
        Tensor y = Tensor.allocate(type, Shape.of(n));
        Elementwise.unary(op, x, y);
        for (int i = 0; i < n; i++) {
          long at = i;
          Supplier<String> what = () -> op + "(" + x.doubleAt(at) + ") of " + type + " " + n;
          if (type.isFloating()) {
            Samples.assertUlps(type, op.of(x.doubleAt(i)), y.doubleAt(i), 0, 4, what);
          } else {
            assertEquals(wrapped(type, op.of(type, x.longAt(i))), y.longAt(i), what);
          }
        }
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void binaryLoopsComputeTheirDefinition(BinaryOp op) {
    for (DType type : TYPES) {
      if (!op.supports(type)) {
        continue;
      }
      for (Shape[] pair : PAIRS) {
        Tensor x = samples.of(type, pair[0]);
        Tensor y = samples.of(type, pair[1]);
        if (!type.isFloating() && type != DType.BOOL) {
          makeDivisor(y, op);
        }
        Tensor z = Tensor.allocate(type, Shape.broadcast(pair[0], pair[1]));
        Elementwise.binary(op, x, y, z);
        BroadcastIndex xi = new BroadcastIndex(pair[0], z.shape());
        BroadcastIndex yi = new BroadcastIndex(pair[1], z.shape());
        for (long i = 0; i < z.elements(); i++) {
          long a = xi.of(i);
          long b = yi.of(i);
          Supplier<String> what =
              () -> op + "(" + x.doubleAt(a) + ", " + y.doubleAt(b) + ") of " + type;
          if (type.isFloating()) {
            double scale = isDifference(op) ? y.doubleAt(b) : 0;
            Samples.assertUlps(
                type, op.of(x.doubleAt(a), y.doubleAt(b)), z.doubleAt(i), scale, 6, what);
          } else {
            assertEquals(wrapped(type, op.of(type, x.longAt(a), y.longAt(b))), z.longAt(i), what);
          }
        }
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void comparisonsComputeTheirDefinition(Comparison op) {
    for (DType type : TYPES) {
      for (Shape[] pair : PAIRS) {
        Tensor x = samples.of(type, pair[0]);
        Tensor y = samples.of(type, pair[1]);
        Tensor z = Tensor.allocate(DType.BOOL, Shape.broadcast(pair[0], pair[1]));
        Elementwise.compare(op, x, y, z);
        BroadcastIndex xi = new BroadcastIndex(pair[0], z.shape());
        BroadcastIndex yi = new BroadcastIndex(pair[1], z.shape());
        for (long i = 0; i < z.elements(); i++) {
          long a = xi.of(i);
          long b = yi.of(i);
          boolean expected =
              type.isFloating()
                  ? op.of(x.doubleAt(a), y.doubleAt(b))
                  : type == DType.UINT64
                      ? op.of(Long.compareUnsigned(x.longAt(a), y.longAt(b)), 0L)
                      : op.of(x.longAt(a), y.longAt(b));
          assertEquals(expected, z.booleanAt(i), () -> op + " of " + type + " " + x + y);
        }
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void numberTestsComputeTheirDefinition(NumberTest op) {
    for (DType type : DType.FLOATING) {
      for (int n : Samples.LENGTHS) {
        Tensor x = samples.of(type, Shape.of(n));
        Tensor y = Tensor.allocate(DType.BOOL, Shape.of(n));
        Elementwise.test(op, x, y);
        for (int i = 0; i < n; i++) {
          assertEquals(op.of(x.doubleAt(i)), y.booleanAt(i), op + "(" + x.doubleAt(i) + ")");
        }
      }
    }
  }

  @Test
  void roundingLeavesWholeNumbersAndSignsAlone() {
    float[] x = {
      8388609f, -8388607f, 4194303.5f, -4194303.5f, 1e30f, -0f, -0.3f, -0.8f, 0.49999997f
    };
    Tensor y = Tensor.allocate(DType.FLOAT, Shape.of(x.length));
    for (UnaryOp op : EnumSet.of(UnaryOp.ROUND, UnaryOp.FLOOR, UnaryOp.CEIL)) {
      Elementwise.unary(op, Tensor.vector(x), y);
      float[] expected = new float[x.length];
      for (int i = 0; i < x.length; i++) {
        expected[i] = (float) op.of((double) x[i]);
      }
      assertArrayEquals(expected, y.toFloats(), op.toString());
    }
  }

  @Test
  void longRowsAreComputedInBlocks() {
    for (Shape shape : new Shape[] {Shape.of(2048), Shape.of(9001), Shape.of(3, 5003)}) {
      Tensor x = samples.finite(DType.FLOAT, shape);
      Tensor row = samples.finite(DType.FLOAT, Shape.of(shape.dim(-1)));
      Tensor z = Tensor.allocate(DType.FLOAT, shape);
      Elementwise.binary(BinaryOp.SUB, x, row, z);
      for (int i = 0; i < z.elements(); i++) {
        float expected = (float) x.doubleAt(i) - (float) row.doubleAt(i % row.elements());
        assertEquals(expected, (float) z.doubleAt(i));
      }
    }
  }

  @Test
  void resultMayBeTheMemoryOfAnOperand() {
    for (int n : Samples.LENGTHS) {
      Tensor x = samples.of(DType.FLOAT, Shape.of(n));
      Tensor y = samples.of(DType.FLOAT, Shape.of(n));
      Tensor expected = Tensor.allocate(DType.FLOAT, Shape.of(n));
      Elementwise.binary(BinaryOp.SQUARED_DIFFERENCE, x, y, expected);
      Tensor left = x.copy();
      Elementwise.binary(BinaryOp.SQUARED_DIFFERENCE, left, y, left);
      assertArrayEquals(expected.toFloats(), left.toFloats());
      Tensor right = y.copy();
      Elementwise.binary(BinaryOp.SQUARED_DIFFERENCE, x, right, right);
      assertArrayEquals(expected.toFloats(), right.toFloats());
      Elementwise.unary(UnaryOp.NEG, expected, left);
      Elementwise.unary(UnaryOp.NEG, expected, expected);
      assertArrayEquals(left.toFloats(), expected.toFloats());
    }
  }

  @Test
  void largeLoopsGiveTheSameOnAnyNumberOfThreads() {
    Tensor x = samples.finite(DType.FLOAT, Shape.of(3, 100_003));
    Tensor row = samples.finite(DType.FLOAT, Shape.of(100_003));
    Tensor alone = Tensor.allocate(DType.FLOAT, x.shape());
    Tensor shared = Tensor.allocate(DType.FLOAT, x.shape());
    int before = Parallel.threads();
    try {
      Parallel.setThreads(1);
      Elementwise.binary(BinaryOp.POW, x, row, alone);
      Parallel.setThreads(3);
      Elementwise.binary(BinaryOp.POW, x, row, shared);
    } finally {
      Parallel.setThreads(before);
    }
    assertArrayEquals(alone.toFloats(), shared.toFloats());
  }

  @Test
  void addNSumsAnyNumberOfInputs() {
    for (DType type : EnumSet.of(DType.FLOAT, DType.INT64, DType.BFLOAT16, DType.UINT8)) {
      for (int n = 1; n <= 20; n++) {
        Tensor[] inputs = new Tensor[n];
        double[] expected = new double[19];
        for (int k = 0; k < n; k++) {
          inputs[k] = Tensor.allocate(type, Shape.of(19));
          for (int i = 0; i < 19; i++) {
            inputs[k].setLong(i, samples.below(8));
            expected[i] += inputs[k].doubleAt(i);
          }
        }
        Tensor out = inputs[n / 2];
        Elementwise.addN(inputs, out);
        assertArrayEquals(expected, out.toDoubles(), type + " " + n);
      }
    }
  }

  @Test
  void selectBroadcastsAndMovesBitsUnchanged() {
    Tensor c = Tensor.of(Shape.of(2, 1), true, false);
    Tensor yes = Tensor.of(Shape.of(3), 1f, Float.intBitsToFloat(0x7F800001), -0f);
    Tensor no = Tensor.scalar(7f);
    Tensor out = Tensor.allocate(DType.FLOAT, Shape.of(2, 3));
    Elementwise.select(c, yes, no, out);
    assertArrayEquals(new float[] {1, Float.NaN, -0f, 7, 7, 7}, out.toFloats());
    assertEquals(0x7F800001, out.data().get(java.lang.foreign.ValueLayout.JAVA_INT, 4));
    for (DType type : DType.ANY) {
      if (type.isPlain()) {
        for (int n : new int[] {5, 16, 17, 131}) {
          checkSelect(type, n);
        }
      }
    }
    Tensor strings = Tensor.allocate(DType.STRING, Shape.of(2, 2));
    Elementwise.select(c, Tensor.vector("a", "b"), Tensor.scalar("c"), strings);
    assertArrayEquals(new String[] {"a", "b", "c", "c"}, strings.toStrings());
  }

  private void checkSelect(DType type, int n) {
    Tensor c = samples.of(DType.BOOL, Shape.of(n));
    Tensor yes = Tensor.allocate(type, Shape.of(n));
    Tensor no = Tensor.allocate(type, Shape.of(n));
    yes.data().fill((byte) 1);
    no.data().fill((byte) 2);
    Tensor out = Tensor.allocate(type, Shape.of(n));
    Elementwise.select(c, yes, no, out);
    for (int i = 0; i < n * type.bytes(); i++) {
      int expected = c.booleanAt(i / type.bytes()) ? 1 : 2;
      assertEquals(expected, out.data().get(java.lang.foreign.ValueLayout.JAVA_BYTE, i));
    }
  }

  @Test
  void selectRowsTakesWholeRows() {
    Tensor c = Tensor.of(Shape.of(2), false, true);
    Tensor yes = Tensor.of(Shape.of(2, 2), 1, 2, 3, 4);
    Tensor no = Tensor.of(Shape.of(2, 2), 5, 6, 7, 8);
    Tensor out = Tensor.allocate(DType.INT32, Shape.of(2, 2));
    Elementwise.selectRows(c, yes, no, out);
    assertArrayEquals(new int[] {5, 6, 3, 4}, out.toInts());
  }

  @Test
  void clipLetsTheLowerLimitWin() {
    Tensor out = Tensor.allocate(DType.FLOAT, Shape.of(4));
    Tensor x = Tensor.vector(-5f, 0.5f, 5f, Float.NaN);
    Elementwise.clip(x, Tensor.scalar(0f), Tensor.scalar(1f), out);
    assertArrayEquals(new float[] {0, 0.5f, 1, Float.NaN}, out.toFloats());
    Elementwise.clip(x, Tensor.scalar(3f), Tensor.scalar(2f), out);
    assertArrayEquals(new float[] {3, 3, 3, Float.NaN}, out.toFloats());
  }

  @Test
  void clipTakesNaNForNoLimit() {
    Tensor x = Tensor.vector(-5f, 0.5f, 5f, Float.NaN);
    Tensor nan = Tensor.scalar(Float.NaN);
    Tensor out = Tensor.allocate(DType.FLOAT, Shape.of(4));
    Elementwise.clip(x, nan, Tensor.scalar(1f), out);
    assertArrayEquals(new float[] {-5, 0.5f, 1, Float.NaN}, out.toFloats());
    Elementwise.clip(x, Tensor.scalar(0f), nan, out);
    assertArrayEquals(new float[] {0, 0.5f, 5, Float.NaN}, out.toFloats());
  }

  @Test
  void integerDivisionByZeroIsTheCallersMistake() {
    for (BinaryOp op :
        EnumSet.of(BinaryOp.DIV, BinaryOp.FLOOR_DIV, BinaryOp.FLOOR_MOD, BinaryOp.TRUNCATE_MOD)) {
      for (DType type : EnumSet.of(DType.INT32, DType.UINT8, DType.UINT64)) {
        Tensor x = samples.finite(type, Shape.of(5));
        Tensor zero = Tensor.allocate(type, Shape.scalar());
        zero.setLong(0, 0);
        MillraceException e =
            assertThrows(MillraceException.class, () -> Elementwise.binary(op, x, zero, x));
        assertEquals(Code.INVALID_ARGUMENT, e.code());
        assertEquals("Integer division by zero", e.getMessage());
      }
    }
  }

  @Test
  void unsignedLongsAreNotNegative() {
    Tensor x = Tensor.of(Shape.of(2), -2L, 7L).bitcast(DType.UINT64);
    Tensor y = Tensor.of(Shape.of(2), 3L, -1L).bitcast(DType.UINT64);
    Tensor out = Tensor.allocate(DType.UINT64, Shape.of(2));
    Elementwise.binary(BinaryOp.MAXIMUM, x, y, out);
    assertArrayEquals(new long[] {-2, -1}, out.toLongs());
    Elementwise.binary(BinaryOp.MINIMUM, x, y, out);
    assertArrayEquals(new long[] {3, 7}, out.toLongs());
    Elementwise.binary(BinaryOp.DIV, x, y, out);
    assertArrayEquals(new long[] {Long.divideUnsigned(-2, 3), 0}, out.toLongs());
    Elementwise.binary(BinaryOp.FLOOR_MOD, x, y, out);
    assertArrayEquals(new long[] {Long.remainderUnsigned(-2, 3), 7}, out.toLongs());
    Elementwise.unary(UnaryOp.RELU, x, out);
    assertArrayEquals(new long[] {-2, 7}, out.toLongs());
    Elementwise.unary(UnaryOp.RELU6, y, out);
    assertArrayEquals(new long[] {3, 6}, out.toLongs());
    Elementwise.binary(BinaryOp.RELU_GRAD, x, y, out);
    assertArrayEquals(new long[] {-2, 7}, out.toLongs());
    Elementwise.binary(BinaryOp.RELU6_GRAD, x, y, out);
    assertArrayEquals(new long[] {-2, 0}, out.toLongs());
  }

  @Test
  void stringsCompareByTheirBytes() {
    Tensor out = Tensor.allocate(DType.BOOL, Shape.of(3));
    Tensor x = Tensor.vector("a", "b", "ab");
    Elementwise.compare(Comparison.EQUAL, x, Tensor.scalar("b"), out);
    assertArrayEquals(new long[] {0, 1, 0}, out.toLongs());
    Elementwise.compare(Comparison.NOT_EQUAL, x, Tensor.scalar("b"), out);
    assertArrayEquals(new long[] {1, 0, 1}, out.toLongs());
  }

  @Test
  void typesWithoutTheFunctionAreRefused() {
    Tensor x = Tensor.allocate(DType.COMPLEX64, Shape.of(2));
    MillraceException e =
        assertThrows(MillraceException.class, () -> Elementwise.unary(UnaryOp.FLOOR, x, x));
    assertEquals(Code.UNIMPLEMENTED, e.code());
    assertTrue(e.getMessage().contains("complex64"), e.getMessage());
  }

  /** What remains of a result in an element of this type. */
  private static long wrapped(DType type, long v) {
    Tensor t = Tensor.allocate(type, Shape.scalar());
    t.setLong(0, v);
    return t.longAt(0);
  }

  /** Whether operands may cancel each other, so that the error is relative to them. */
  private static boolean isDifference(BinaryOp op) {
    return op == BinaryOp.TANH_GRAD || op == BinaryOp.SIGMOID_GRAD || op == BinaryOp.SELU_GRAD;
  }

  /** Makes y fit to divide by or to be an exponent. */
  private static void makeDivisor(Tensor y, BinaryOp op) {
    for (long i = 0; i < y.elements(); i++) {
      if (op == BinaryOp.POW) {
        y.setLong(i, Math.abs(y.longAt(i) % 20));
      } else if (y.longAt(i) == 0) {
        y.setLong(i, 3);
      }
    }
  }
}
