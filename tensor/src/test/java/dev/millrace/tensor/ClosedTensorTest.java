package dev.millrace.tensor;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** A tensor whose memory was given back does not show what is there now. */
class ClosedTensorTest {
  @Test
  void valuesOfAClosedTensorAreRefused() {
    Tensor closed = Tensor.vector(1f, 2f);
    long address = closed.data().address();
    closed.close();
    assertRefused(closed);
    // The pool gives the same memory out again.
    Tensor next = Tensor.vector(3f, 4f);
    for (int i = 0; i < 100 && next.data().address() != address; i++) {
      next = Tensor.vector(3f, 4f);
    }
    assertRefused(closed);
    assertArrayEquals(new float[] {3, 4}, next.toFloats());
  }

  private static void assertRefused(Tensor t) {
    for (Executable use :
        List.<Executable>of(
            t::toFloats,
            t::toDoubles,
            t::toInts,
            t::toLongs,
            () -> t.doubleAt(0),
            () -> t.longAt(0))) {
      IllegalStateException e = assertThrows(IllegalStateException.class, use);
      assertTrue(e.getMessage().contains("closed"), e::getMessage);
    }
    assertTrue(t.toString().contains("closed"), t::toString);
  }

  @Test
  void whatSomebodyElseHoldsIsThere() {
    Tensor t = Tensor.vector(1f, 2f);
    t.retain();
    t.close();
    assertFalse(t.isGone());
    assertArrayEquals(new float[] {1, 2}, t.toFloats());
    t.release();
    assertTrue(t.isGone());
  }
}
