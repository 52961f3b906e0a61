package dev.millrace.storage.checkpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.tensor.Shape;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

class CommonRunsTest {
  /** Where each element of a slice is in it, by where the element is in the whole. */
  private static Map<Long, Long> places(TensorSlice slice, Shape full) {
    Map<Long, Long> places = new HashMap<>();
    Shape shape = slice.shapeIn(full);
    TensorSlice s = slice.within(full);
    for (long i = 0; i < shape.elements(); i++) {
      long rest = i;
      long stride = 1;
      long at = 0;
      for (int d = shape.rank() - 1; d >= 0; d--) {
        at += (s.start(d) + rest % shape.dim(d)) * stride;
        rest /= shape.dim(d);
        stride *= full.dim(d);
      }
      places.put(at, i);
    }
    return places;
  }

  private static TensorSlice randomSlice(Random random, Shape full) {
    StringBuilder s = new StringBuilder();
    for (int d = 0; d < full.rank(); d++) {
      s.append(d == 0 ? "" : ":");
      if (random.nextInt(3) == 0) {
        s.append('-');
      } else {
        long start = random.nextLong(full.dim(d));
        s.append(start).append(',').append(1 + random.nextLong(full.dim(d) - start));
      }
    }
    return TensorSlice.parse(s.toString());
  }

  @Test
  void runsAreExactlyWhatBothSlicesHave() {
    for (int seed = 0; seed < 3000; seed++) {
      Random random = new Random(seed);
      long[] dims = new long[random.nextInt(5)];
      for (int d = 0; d < dims.length; d++) {
        dims[d] = 1L + random.nextInt(5);
      }
      Shape full = Shape.of(dims);
      TensorSlice a = randomSlice(random, full);
      TensorSlice b = randomSlice(random, full);
      Map<Long, Long> inA = places(a, full);
      Map<Long, Long> inB = places(b, full);
      Map<Long, Long> expected = new HashMap<>();
      inA.forEach(
          (at, i) -> {
            if (inB.containsKey(at)) {
              expected.put(i, inB.get(at));
            }
          });
      CommonRuns runs = new CommonRuns(a, b, full);
      Map<Long, Long> found = new HashMap<>();
      long last = -1;
      while (runs.next()) {
        assertTrue(runs.from() > last, "ascending");
        last = runs.from();
        for (long i = 0; i < runs.length(); i++) {
          found.put(runs.from() + i, runs.to() + i);
        }
      }
      String what = "seed " + seed + ": " + a + " and " + b + " of " + full;
      assertEquals(expected, found, what);
      assertEquals(expected.size(), runs.elements(), what);
      assertEquals(a.within(full).equals(b.within(full)), runs.isIdentity(), what);
    }
  }
}
