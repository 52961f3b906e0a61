package dev.millrace.tensor.math.random;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

class PhiloxTest {
  private static int[] first(Philox p) {
    int[] out = new int[4];
    p.at(0, out, 0);
    return out;
  }

  /** The known answers that come with the authors' Random123 library. */
  @Test
  void numbersAreThoseOfItsAuthors() {
    assertArrayEquals(
        new int[] {0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8}, first(new Philox(0, 0, 0)));
    assertArrayEquals(
        new int[] {0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD}, first(new Philox(-1, -1, -1)));
    assertArrayEquals(
        new int[] {0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1},
        first(new Philox(0x299F31D0_A4093822L, 0x85A308D3_243F6A88L, 0x03707344_13198A2EL)));
  }

  @Test
  void manyCountersAtOnceGiveWhatEachGives() {
    compareManyWithEach();
    new Philox(1, 2, 3).fill(0, Philox.COLD, new int[4 * Philox.COLD]);
    assertFalse(Philox.isCold());
    compareManyWithEach();
  }

  private static void compareManyWithEach() {
    for (long low : new long[] {0, 12345, 0xFFFFFFF0L, -20, Long.MAX_VALUE - 3}) {
      Philox p = new Philox(99, low, 7);
      int[] all = new int[4 * 40];
      p.fill(3, 40, all);
      int[] each = new int[4 * 40];
      for (int i = 0; i < 40; i++) {
        p.at(3 + i, each, 4 * i);
      }
      assertArrayEquals(each, all, "from counter " + low);
    }
  }

  @Test
  void skippingCarriesIntoTheHighHalf() {
    Philox p = new Philox(5, -3, 8);
    assertEquals(new Philox(5, 2, 9), p.skipped(5));
    int[] far = new int[4];
    p.at(5, far, 0);
    assertArrayEquals(far, first(p.skipped(5)));
  }

  @Test
  void cursorGivesTheNumbersInOrder() {
    Philox p = Philox.ofSeeds(1, 2);
    int[] expected = new int[8];
    p.fill(0, 2, expected);
    Philox.Cursor c = p.cursor();
    for (int v : expected) {
      assertEquals(v, c.nextInt());
    }
  }

  @Test
  void fillingDoesNotDependOnTheNumberOfThreads() {
    Philox p = Philox.ofSeeds(1, 2);
    for (DType type : new DType[] {DType.FLOAT, DType.DOUBLE, DType.HALF}) {
      Tensor few = Tensor.allocate(type, Shape.of(1003));
      Tensor many = Tensor.allocate(type, Shape.of(50_001));
      RandomFill.uniform(p, few);
      RandomFill.uniform(p, many);
      assertArrayEquals(few.toDoubles(), Arrays.copyOf(many.toDoubles(), 1003));
      RandomFill.normal(p, few);
      RandomFill.normal(p, many);
      assertArrayEquals(few.toDoubles(), Arrays.copyOf(many.toDoubles(), 1003));
      RandomFill.truncatedNormal(p, few);
      RandomFill.truncatedNormal(p, many);
      assertArrayEquals(few.toDoubles(), Arrays.copyOf(many.toDoubles(), 1003));
    }
  }
}
