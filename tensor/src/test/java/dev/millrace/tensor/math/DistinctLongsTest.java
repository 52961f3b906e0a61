package dev.millrace.tensor.math;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.tensor.Tensor;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

class DistinctLongsTest {
  @Test
  void keysAreNumberedAsTheyCome() {
    Random r = new Random(1);
    DistinctLongs d = new DistinctLongs(4);
    Map<Long, Integer> expected = new HashMap<>();
    for (int i = 0; i < 20_000; i++) {
      long key = r.nextInt(3) == 0 ? r.nextLong() : (long) r.nextInt(500) << r.nextInt(40);
      int next = expected.size();
      assertEquals(expected.computeIfAbsent(key, k -> next), d.add(key));
    }
    assertEquals(expected.size(), d.size());
    assertTrue(d.contains(expected.keySet().iterator().next()));
    assertFalse(d.contains(-7));
  }

  @Test
  void orderOfBitsIsOrderOfNumbers() {
    double[] sorted = {
      Double.NEGATIVE_INFINITY,
      -1e300,
      -1,
      -Double.MIN_VALUE,
      0,
      Double.MIN_VALUE,
      2,
      Double.POSITIVE_INFINITY,
      Double.NaN
    };
    Tensor t = Tensor.vector(sorted);
    for (int i = 1; i < sorted.length; i++) {
      assertTrue(OrderedBits.at(t, i - 1) < OrderedBits.at(t, i), sorted[i] + "");
    }
    Tensor zeros = Tensor.vector(0.0, -0.0);
    assertEquals(OrderedBits.at(zeros, 0), OrderedBits.at(zeros, 1));
  }
}
