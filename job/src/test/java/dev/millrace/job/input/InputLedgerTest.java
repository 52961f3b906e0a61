package dev.millrace.job.input;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.data.Dataset;
import dev.millrace.train.data.Datasets;
import dev.millrace.train.data.Elements;
import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class InputLedgerTest {
  private static final int ELEMENTS = 53;

  private final Dataset data =
      Datasets.generated(ELEMENTS, i -> new Tensor[] {Tensor.scalar(i)}).shuffle(7, 3);

  /** A table as the checkpoint of a job has it. */
  private final long[] table = new long[InputLedger.ROWS * InputLedger.COLUMNS];

  /** How often each element was trained. */
  private final int[] seen = new int[ELEMENTS];

  /** Trains with so many workers, of which each takes some elements; returns what is left over. */
  private void train(int[] takes) {
    InputLedger ledger = InputLedger.of(table, takes.length);
    table[ledger.header() * InputLedger.COLUMNS] = takes.length;
    for (int w = 0; w < takes.length; w++) {
      try (Elements mine = new DealtData(data, ledger, w).elements()) {
        mine.seek(ledger.position(w));
        for (int i = 0; i < takes[w]; i++) {
          Tensor[] element = mine.next();
          seen[element[0].intValue()]++;
          Elements.release(element);
          System.arraycopy(mine.position(), 0, table, ledger.row(w) * InputLedger.COLUMNS, 2);
        }
      }
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
  void everyElementIsTrainedOnceInAnEpochWhoeverTrains(long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    int total = 0;
    for (int run = 0; run < 6; run++) {
      int[] takes = new int[1 + random.nextInt(5)];
      Arrays.setAll(takes, i -> random.nextInt(8));
      total += Arrays.stream(takes).sum();
      train(takes);
    }
    assertEquals(total, Arrays.stream(seen).sum());
    // The workers of a run are apart by less than an epoch, so no element is ahead by two.
    int least = Arrays.stream(seen).min().orElseThrow();
    assertTrue(Arrays.stream(seen).max().orElseThrow() <= least + 2, Arrays.toString(seen));
    // One worker takes all that is left of the epochs that were begun.
    int most = Arrays.stream(seen).max().orElseThrow();
    int left = most * ELEMENTS - total;
    InputLedger three = InputLedger.of(table, 3);
    long shares = 0;
    for (int i = 0; i < 3; i++) {
      shares += three.left(i, most, ELEMENTS);
    }
    assertEquals(left, shares);
    assertEquals(left, InputLedger.of(table, 1).left(0, most, ELEMENTS));
    train(new int[] {left});
    assertEquals(0, InputLedger.of(table, 1).left(0, most, ELEMENTS));
    int[] all = new int[ELEMENTS];
    Arrays.fill(all, most);
    assertArrayEquals(all, seen);
  }

  @Test
  void theSameNumberOfWorkersGoesOnInTheSameRows() {
    train(new int[] {4, 2});
    InputLedger again = InputLedger.of(table, 2);
    assertEquals(0, again.header());
    assertArrayEquals(new long[] {0, 4}, again.position(0));
    assertArrayEquals(new long[] {0, 2}, again.position(1));
  }

  @Test
  void aWorkerThatNeverBeganStartsWhereItsGenerationDid() {
    train(new int[] {ELEMENTS + 3});
    train(new int[] {5, 0});
    InputLedger ledger = InputLedger.of(table, 2);
    assertArrayEquals(new long[] {1, 0}, ledger.position(1));
  }

  @Test
  void moreWorkersThanElementsAreRefused() {
    Dataset two = Datasets.generated(2, i -> new Tensor[] {Tensor.scalar(i)});
    try (Elements third = new DealtData(two, InputLedger.of(table, 3), 2).elements()) {
      MillraceException e = assertThrows(MillraceException.class, third::next);
      assertTrue(e.getMessage().startsWith("Worker 2 has no training data"), e.getMessage());
    }
  }

  @Test
  void dataThatBecameShorterIsRefused() {
    train(new int[] {ELEMENTS - 1});
    Dataset few = Datasets.generated(5, i -> new Tensor[] {Tensor.scalar(i)});
    InputLedger ledger = InputLedger.of(table, 1);
    try (Elements e = new DealtData(few, ledger, 0).elements()) {
      MillraceException x = assertThrows(MillraceException.class, () -> e.seek(ledger.position(0)));
      assertTrue(x.getMessage().contains("there are 5 now"), x.getMessage());
    }
  }
}
