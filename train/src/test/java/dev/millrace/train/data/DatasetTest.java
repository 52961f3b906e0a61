package dev.millrace.train.data;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.stream.LongStream;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

class DatasetTest {
  @TempDir Path folder;

  private static Dataset numbers(int n) {
    return Datasets.rows(Tensor.vector(LongStream.range(0, n).toArray()));
  }

  /** All values of the first component, batches one after the other. */
  private static List<Long> values(Elements elements, int most) {
    List<Long> found = new ArrayList<>();
    while (found.size() < most) {
      Tensor[] e = elements.next();
      if (e == null) {
        break;
      }
      for (int i = 0; i < e[0].elements(); i++) {
        found.add(e[0].longAt(i));
      }
      Elements.release(e);
    }
    return found;
  }

  private static List<Long> values(Dataset d) {
    try (Elements e = d.elements()) {
      return values(e, Integer.MAX_VALUE);
    }
  }

  private static List<Long> range(long n) {
    return LongStream.range(0, n).boxed().toList();
  }

  @Test
  void rowsComeInOrder() {
    assertEquals(range(7), values(numbers(7)));
  }

  @Test
  void shardsAreDisjointAndComplete() {
    for (int n : new int[] {1, 2, 3, 11}) {
      List<Long> all = new ArrayList<>();
      for (int i = 0; i < n; i++) {
        all.addAll(values(numbers(10).shard(n, i)));
      }
      Collections.sort(all);
      assertEquals(range(10), all, n + " shards");
    }
  }

  @Test
  void shuffleGivesEveryElementOnceAndFollowsItsSeed() {
    List<Long> a = values(numbers(50).shuffle(10, 1));
    assertEquals(a, values(numbers(50).shuffle(10, 1)));
    assertNotEquals(a, values(numbers(50).shuffle(10, 2)));
    assertNotEquals(range(50), a);
    assertEquals(50, new HashSet<>(a).size());
  }

  @Test
  void repetitionsAreShuffledAnew() {
    List<Long> twice = values(numbers(20).shuffle(20, 3).repeat(2));
    List<Long> first = twice.subList(0, 20);
    List<Long> second = twice.subList(20, 40);
    assertNotEquals(first, second);
    assertEquals(new HashSet<>(first), new HashSet<>(second));
  }

  @Test
  void batchesHoldTheRest() {
    try (Elements e = numbers(5).batch(2, false).elements()) {
      assertEquals(Shape.of(2), e.next()[0].shape());
      assertEquals(Shape.of(2), e.next()[0].shape());
      assertEquals(Shape.of(1), e.next()[0].shape());
      assertNull(e.next());
    }
    assertEquals(range(4), values(numbers(5).batch(2, true)));
  }

  @Test
  void batchOfUnequalElementsIsRefused() {
    Dataset uneven =
        Datasets.generated(2, i -> new Tensor[] {Tensor.of(Shape.of(i + 1), new float[i + 1])});
    try (Elements e = uneven.batch(2, false).elements()) {
      MillraceException x = assertThrows(MillraceException.class, e::next);
      assertTrue(x.getMessage().contains("differ in component 0"), x.getMessage());
    }
  }

  @Test
  void anyPositionCanBeGoneBackTo() {
    Dataset d = numbers(23).shard(2, 1).shuffle(5, 7).repeat(3).batch(2, false).prefetch(3);
    List<Long> all = values(d);
    assertEquals(33, all.size());
    for (int batches : new int[] {0, 1, 4, 6, 11, 16}) {
      try (Elements e = d.elements();
          Elements other = d.elements()) {
        values(e, 2 * batches);
        other.seek(e.position());
        assertEquals(
            all.subList(Math.min(33, 2 * batches), 33), values(other, 100), batches + " batches");
      }
    }
  }

  @Test
  void failureInPrefetchIsThrownToTheReader() {
    Dataset failing =
        Datasets.generated(
            3,
            i -> {
              if (i == 1) {
                throw MillraceException.invalid("broken");
              }
              return new Tensor[] {Tensor.scalar((long) i)};
            });
    try (Elements e = failing.prefetch(2).elements()) {
      assertEquals(0, e.next()[0].longValue());
      for (int i = 0; i < 2; i++) { // not once and then the end of the data
        assertEquals("broken", assertThrows(MillraceException.class, e::next).getMessage());
      }
    }
  }

  @Test
  @Timeout(60)
  void errorOfTheThreadThatPrefetchesIsTold() {
    Dataset broken =
        Datasets.generated(
            2,
            _ -> {
              throw new AssertionError("wrong");
            });
    try (Elements e = broken.prefetch(1).elements()) {
      MillraceException x = assertThrows(MillraceException.class, e::next);
      assertTrue(x.getMessage().contains("wrong"), x.getMessage());
    }
  }

  @Test
  void repetitionsDifferWhateverIsBehindTheShuffle() {
    Dataset d =
        numbers(12).shuffle(12, 1).shard(2, 1).map(e -> e).prefetch(2).batch(2, true).repeat(3);
    List<Long> all;
    try (Elements e = d.elements()) {
      all = values(e, 18);
      assertNull(e.next());
    }
    assertNotEquals(all.subList(0, 6), all.subList(6, 12));
    assertNotEquals(all.subList(6, 12), all.subList(12, 18));
    // Any place of it can be gone back to.
    for (int batches = 0; batches <= 9; batches++) {
      try (Elements before = d.elements();
          Elements after = d.elements()) {
        values(before, 2 * batches);
        after.seek(before.position());
        assertEquals(all.subList(2 * batches, 18), values(after, 18 - 2 * batches));
      }
    }
  }

  @Test
  void emptyShardThatIsRepeatedSaysSo() {
    try (Elements e = numbers(2).shard(3, 2).repeat().elements()) {
      MillraceException x = assertThrows(MillraceException.class, e::next);
      assertTrue(x.getMessage().contains("more shards than elements"), x.getMessage());
      assertEquals(Code.INVALID_ARGUMENT, x.code(), "a failure, not the end of the data");
    }
  }

  @Test
  void idxFilesAreReadZippedOrNot() throws IOException {
    Path file = folder.resolve("a.gz");
    try (DataOutputStream out =
        new DataOutputStream(new GZIPOutputStream(Files.newOutputStream(file)))) {
      out.writeInt(0x00000c02);
      out.writeInt(2);
      out.writeInt(3);
      for (int i = 0; i < 6; i++) {
        out.writeInt(1000 * i);
      }
    }
    try (Elements e = Datasets.idx(file).elements()) {
      assertArrayEquals(new int[] {0, 1000, 2000}, e.next()[0].toInts());
      assertArrayEquals(new int[] {3000, 4000, 5000}, e.next()[0].toInts());
    }
    Files.write(file, new byte[] {0, 0, 8, 1, 0, 0, 0, 9, 1});
    assertTrue(
        assertThrows(MillraceException.class, () -> Datasets.idx(file))
            .getMessage()
            .endsWith("should hold 9 bytes behind its header but holds 1."));
  }

  @Test
  void positionBehindTheEndIsRefused() {
    long[] behind;
    try (Elements e = numbers(9).shuffle(3, 1).elements()) {
      values(e, 8);
      behind = e.position();
    }
    try (Elements e = numbers(5).shuffle(3, 1).elements()) {
      MillraceException x = assertThrows(MillraceException.class, () -> e.seek(behind));
      assertTrue(x.getMessage().startsWith("The input ends before"), x.getMessage());
    }
  }
}
