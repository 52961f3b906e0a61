package dev.millrace.train.data;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.data.bucket.LengthBuckets;
import dev.millrace.train.data.cache.ElementCache;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TransformsOfDatasetsTest {
  @TempDir Path folder;

  private static Tensor[] timesTen(Tensor[] element) {
    try (Tensor x = element[0]) {
      return new Tensor[] {Tensor.scalar(10 * x.longValue())};
    }
  }

  private static Dataset numbers(int from, int to) {
    return Datasets.generated(to - from, i -> new Tensor[] {Tensor.scalar((long) from + i)});
  }

  private static List<Long> values(Elements elements, int most) {
    List<Long> found = new ArrayList<>();
    while (found.size() < most) {
      Tensor[] e = elements.next();
      if (e == null) {
        break;
      }
      found.add(e[0].longValue());
      Elements.release(e);
    }
    return found;
  }

  private static List<Long> values(Dataset d) {
    try (Elements e = d.elements()) {
      return values(e, Integer.MAX_VALUE);
    }
  }

  private static List<Long> sorted(List<Long> values) {
    return values.stream().sorted().toList();
  }

  /** Whether a passage can be continued in another one after each of its elements. */
  private static void assertResumes(Dataset d, boolean ordered) {
    List<Long> all = values(d);
    for (int n = 0; n <= all.size(); n++) {
      try (Elements e = d.elements();
          Elements other = d.elements()) {
        List<Long> both = new ArrayList<>(values(e, n));
        other.seek(e.position());
        both.addAll(values(other, Integer.MAX_VALUE));
        assertEquals(ordered ? all : sorted(all), ordered ? both : sorted(both), "after " + n);
      }
    }
  }

  @Test
  void filterAndTakeKeepTheirPlace() {
    Dataset d = numbers(0, 40).filter(e -> e[0].longValue() % 3 == 0).take(9);
    assertEquals(List.of(0L, 3L, 6L, 9L, 12L, 15L, 18L, 21L, 24L), values(d));
    assertResumes(d, true);
    assertResumes(d.repeat(3), true);
  }

  @Test
  void interleavedDatasetsTakeTurns() {
    Dataset d = Datasets.interleave(List.of(numbers(0, 2), numbers(10, 15), numbers(20, 23)));
    assertEquals(List.of(0L, 10L, 20L, 1L, 11L, 21L, 12L, 22L, 13L, 14L), values(d));
    assertResumes(d, true);
    assertResumes(d.repeat(2), true);
    assertResumes(Datasets.interleave(List.of(numbers(0, 9).shuffle(9, 1), d)).repeat(3), true);
  }

  @Test
  void severalThreadsMapInOrderOrNot() {
    List<Long> expected = LongStream.range(0, 150).map(i -> 10 * i).boxed().toList();
    for (boolean ordered : new boolean[] {true, false}) {
      Dataset d = numbers(0, 150).map(TransformsOfDatasetsTest::timesTen, 3, ordered);
      assertEquals(expected, ordered ? values(d) : sorted(values(d)));
      assertResumes(d, ordered);
      assertResumes(d.repeat(2), ordered);
    }
  }

  @Test
  void anElementThatTakesLongHoldsUpNoOtherWithoutOrder() throws InterruptedException {
    CountDownLatch first = new CountDownLatch(1);
    Dataset d =
        numbers(0, 8)
            .map(
                e -> {
                  if (e[0].longValue() == 0) {
                    await(first);
                  }
                  return e;
                },
                2,
                false);
    try (Elements e = d.elements()) {
      assertEquals(List.of(1L, 2L, 3L, 4L, 5L, 6L, 7L), sorted(values(e, 7)));
      first.countDown();
      assertEquals(List.of(0L), values(e, 9));
    }
  }

  private static void await(CountDownLatch latch) {
    try {
      assertTrue(latch.await(60, TimeUnit.SECONDS), "the other elements were not given");
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void failureOfAThreadIsTold() {
    Dataset d =
        numbers(0, 20)
            .map(
                e -> {
                  Elements.release(e);
                  throw MillraceException.invalid("broken");
                },
                2,
                true);
    try (Elements e = d.elements()) {
      assertEquals("broken", assertThrows(MillraceException.class, e::next).getMessage());
    }
  }

  @Test
  void collectionsAndStreamsAreData() {
    AtomicInteger closed = new AtomicInteger();
    Function<Long, Tensor[]> scalar = v -> new Tensor[] {Tensor.scalar(v)};
    List<Long> list = List.of(3L, 1L, 2L);
    assertEquals(list, values(Datasets.of(list, scalar)));
    Dataset stream =
        Datasets.stream(() -> Stream.of(5L, 6L, 7L).onClose(closed::incrementAndGet), scalar);
    assertEquals(List.of(5L, 6L, 7L, 5L, 6L, 7L), values(stream.repeat(2)));
    assertEquals(2, closed.get());
    assertResumes(stream.repeat(2), true);
    try (Elements e = stream.elements()) {
      MillraceException x = assertThrows(MillraceException.class, () -> e.seek(new long[] {4}));
      assertTrue(x.getMessage().startsWith("The input ends before the position"), x.getMessage());
    }
  }

  /** Counts how often its elements are made. */
  private static Dataset counted(AtomicInteger made, Dataset d) {
    return d.map(
        e -> {
          made.incrementAndGet();
          return e;
        });
  }

  @Test
  void cachesReadTheirSourceOnce() throws IOException {
    AtomicInteger made = new AtomicInteger();
    Dataset source = counted(made, numbers(0, 12));
    Path file = folder.resolve("cache/numbers");
    List<Dataset> caches =
        List.of(source.apply(ElementCache.inMemory()), source.apply(ElementCache.onDisk(file)));
    for (Dataset d : caches) {
      made.set(0);
      try (Elements e = d.elements()) {
        assertEquals(5, values(e, 5).size(), "a passage that ends early keeps nothing");
      }
      assertEquals(values(numbers(0, 12)), values(d));
      assertEquals(17, made.get());
      assertResumes(d, true);
      assertNotEquals(values(numbers(0, 12)), values(d.shuffle(12, 1).repeat(2)).subList(0, 12));
      assertEquals(17, made.get());
    }
    try (Stream<Path> files = Files.list(file.getParent())) {
      assertEquals(List.of(file), files.toList(), "nothing else is left");
    }
    // Another process finds the file.
    assertEquals(values(numbers(0, 12)), values(numbers(0, 0).apply(ElementCache.onDisk(file))));
  }

  @Test
  void splitsAreCachedByThemselves() {
    AtomicInteger made = new AtomicInteger();
    Dataset data = Datasets.splits(List.of(numbers(0, 5), numbers(5, 9)));
    Dataset d = counted(made, data).apply(ElementCache.inMemory());
    for (int epoch = 0; epoch < 3; epoch++) {
      assertEquals(List.of(5L, 6L, 7L, 8L), values(d.splits(epoch).get(1)));
    }
    assertEquals(4, made.get());
    try (Elements e = d.splits(0).get(0).elements()) {
      assertEquals(5, values(e, 9).size());
      assertNull(e.next());
    }
  }

  /** A list of {@code n} times the number n, its words, and a matrix. */
  private static Tensor[] ragged(int n) {
    long[] numbers = new long[n];
    String[] words = new String[n];
    Arrays.fill(numbers, n);
    Arrays.fill(words, "w" + n);
    return new Tensor[] {
      Tensor.vector(numbers),
      Tensor.vector(words),
      Tensor.of(Shape.of(n, 1 + n % 2), new float[n * (1 + n % 2)])
    };
  }

  @Test
  void elementsOfAboutTheSameLengthMakeBatches() {
    int[] lengths = {5, 1, 9, 2, 4, 1, 0, 8, 3, 5};
    Dataset d =
        Datasets.generated(lengths.length, i -> ragged(lengths[i]))
            .apply(
                LengthBuckets.of(
                    e -> e[0].elements(), new long[] {3, 6}, new int[] {3, 2, 2}, false));
    List<String> found = new ArrayList<>();
    try (Elements e = d.elements()) {
      for (Tensor[] b = e.next(); b != null; b = e.next()) {
        assertEquals(b[0].shape(), b[1].shape());
        assertEquals(b[0].shape(), b[2].shape().slice(0, 2));
        found.add(
            b[0].shape() + Arrays.toString(b[0].toLongs()) + String.join(",", b[1].toStrings()));
        Elements.release(b);
      }
    }
    assertEquals(
        List.of(
            "[2,5][5, 5, 5, 5, 5, 4, 4, 4, 4, 0]w5,w5,w5,w5,w5,w4,w4,w4,w4,",
            "[3,2][1, 0, 2, 2, 1, 0]w1,,w2,w2,w1,",
            "[2,9][9, 9, 9, 9, 9, 9, 9, 9, 9, 8, 8, 8, 8, 8, 8, 8, 8, 0]"
                + "w9,w9,w9,w9,w9,w9,w9,w9,w9,w8,w8,w8,w8,w8,w8,w8,w8,",
            "[2,5][3, 3, 3, 0, 0, 5, 5, 5, 5, 5]w3,w3,w3,,,w5,w5,w5,w5,w5",
            "[1,0][]"),
        found);
    Dataset firsts = d.map(b -> new Tensor[] {first(b)});
    assertResumes(firsts, true);
    assertResumes(firsts.repeat(2), true);
    Dataset whole =
        Datasets.generated(lengths.length, i -> ragged(lengths[i]))
            .apply(
                LengthBuckets.of(
                    e -> e[0].elements(), new long[] {3, 6}, new int[] {3, 2, 2}, true));
    assertEquals(4, values(whole.map(b -> new Tensor[] {first(b)})).size());
    assertThrows(
        MillraceException.class,
        () -> d.apply(LengthBuckets.of(e -> 1, new long[] {3, 3}, new int[] {1, 1, 1}, true)));
  }

  /** The number of elements of a batch, and the first of its numbers. */
  private static Tensor first(Tensor[] batch) {
    long first = batch[0].elements() == 0 ? 0 : batch[0].longAt(0);
    long rows = batch[0].shape().dim(0);
    Elements.release(batch);
    return Tensor.scalar(100 * rows + first);
  }
}
