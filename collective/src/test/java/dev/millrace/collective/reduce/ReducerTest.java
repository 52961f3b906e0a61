package dev.millrace.collective.reduce;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.collective.testing.Scalars;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.lang.foreign.MemorySegment;
import java.util.Random;
import org.junit.jupiter.api.Test;

class ReducerTest {
  private static final int[] SIZES = {0, 1, 3, 15, 16, 17, 63, 1000, 9001};

  @Test
  void everyLoopEqualsItsScalarTwinToTheBit() {
    Random random = new Random(1);
    for (DType dtype : Scalars.TYPES) {
      for (ReduceOp op : ReduceOp.values()) {
        for (int n : SIZES) {
          if (Scalars.isDefined(dtype, op)) {
            Tensor a = Scalars.random(dtype, n, random);
            Tensor b = Scalars.random(dtype, n, random);
            Tensor out = Scalars.random(dtype, n, random);
            Reducer reducer = Reducer.of(dtype, op);
            reducer.apply(a.data(), 0, b.data(), 0, out.data(), 0, a.byteSize());
            reducer.finish(out.data(), 0, a.byteSize(), 3);
            for (int i = 0; i < n; i++) {
              Scalars.pair(op, a, b, i);
              Scalars.finish(op, a, i, 3);
            }
            String difference = Scalars.difference(a, out);
            assertNull(difference, () -> dtype + " " + op + " " + n + ": " + difference);
          }
        }
      }
    }
  }

  @Test
  void aChainTakesItsOperandsFromFirstToLastAndWritesEveryTarget() {
    Random random = new Random(2);
    for (DType dtype : new DType[] {DType.FLOAT, DType.HALF, DType.INT32}) {
      int n = 10_007;
      Tensor[] vectors = new Tensor[5];
      for (int v = 0; v < vectors.length; v++) {
        vectors[v] = Scalars.random(dtype, n, random);
      }
      Tensor expected = copy(vectors[0]);
      for (int i = 0; i < n; i++) {
        for (int v = 1; v < vectors.length; v++) {
          Scalars.pair(ReduceOp.AVERAGE, expected, vectors[v], i);
        }
        Scalars.finish(ReduceOp.AVERAGE, expected, i, vectors.length);
      }
      Operands operands = new Operands(5);
      for (Tensor v : vectors) {
        operands.add(v.data(), 0);
      }
      Reducer reducer = Reducer.of(dtype, ReduceOp.AVERAGE);
      reducer.chain(operands, operands, expected.byteSize(), vectors.length);
      for (Tensor v : vectors) {
        assertNull(Scalars.difference(expected, v));
      }
    }
  }

  private static Tensor copy(Tensor t) {
    Tensor c = Tensor.allocate(t.dtype(), t.shape());
    MemorySegment.copy(t.data(), 0, c.data(), 0, t.byteSize());
    return c;
  }

  @Test
  void infinityAndNanGoThroughHalfAndBfloat16() {
    for (DType dtype : new DType[] {DType.HALF, DType.BFLOAT16}) {
      Tensor a = Tensor.allocate(dtype, Shape.of(40));
      Tensor b = Tensor.allocate(dtype, Shape.of(40));
      for (int i = 0; i < 40; i++) {
        a.setDouble(i, i % 2 == 0 ? Double.POSITIVE_INFINITY : Double.NaN);
        b.setDouble(i, 1);
      }
      Reducer.of(dtype, ReduceOp.SUM).apply(a.data(), 0, b.data(), 0, a.data(), 0, a.byteSize());
      for (int i = 0; i < 40; i++) {
        assertEquals(i % 2 == 0 ? Double.POSITIVE_INFINITY : Double.NaN, a.doubleAt(i));
      }
    }
  }

  @Test
  void whatMakesNoSenseIsRefusedWithAnAlternative() {
    MillraceException e =
        assertThrows(MillraceException.class, () -> Reducer.of(DType.BOOL, ReduceOp.SUM));
    assertEquals(Code.INVALID_ARGUMENT, e.code());
    assertTrue(e.getMessage().contains("MAX"), e.getMessage());
    assertThrows(MillraceException.class, () -> Reducer.of(DType.COMPLEX64, ReduceOp.MIN));
    assertThrows(MillraceException.class, () -> Reducer.of(DType.STRING, ReduceOp.SUM));
  }
}
