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
import dev.millrace.train.data.RowBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class InputLedgerTest {
  private static final int ELEMENTS = 53;

  /** A table as the checkpoint of a job has it. */
  private final long[] table = new long[InputLedger.ROWS * InputLedger.COLUMNS];

  /** How often each element was trained. */
  private final int[] seen = new int[ELEMENTS];

  /** How often an element was made. */
  private final AtomicInteger made = new AtomicInteger();

  /** The numbers from 0 on, in parts of different sizes, some of them empty. */
  private Dataset data(int parts) {
    List<Dataset> all = new ArrayList<>();
    for (int p = 0; p < parts; p++) {
      int from = bound(p, parts);
      all.add(
          Datasets.generated(
              bound(p + 1, parts) - from,
              i -> {
                made.incrementAndGet();
                return new Tensor[] {Tensor.scalar(from + i)};
              }));
    }
    return (parts == 1 ? all.getFirst() : Datasets.splits(all)).shuffle(7, 3);
  }

  private static int bound(int part, int parts) {
    double x = (double) part / parts;
    return (int) (x * x * ELEMENTS);
  }

  private void write(long[] values, int row) {
    System.arraycopy(values, 0, table, row * InputLedger.COLUMNS, InputLedger.COLUMNS);
  }

  private InputLedger ledger(Dataset data, int workers) {
    InputLedger ledger = InputLedger.of(table, workers, DealtData.parts(data, 0).size());
    write(ledger.headerRow(), ledger.header());
    return ledger;
  }

  /** Trains with several workers, each of which takes some elements in batches. */
  private int train(Dataset data, long epochs, int... takes) {
    InputLedger ledger = ledger(data, takes.length);
    int taken = 0;
    for (int w = 0; w < takes.length; w++) {
      try (Elements mine = new DealtData(data, ledger, w, epochs).elements()) {
        mine.seek(ledger.position(w));
        int left = takes[w];
        boolean ended = false;
        while (left > 0 && !ended) {
          int n = Math.min(left, 3);
          try (RowBuffer batch = new RowBuffer(3)) {
            int read = n == 1 ? one(mine, batch) : mine.read(batch, n);
            for (int i = 0; i < read; i++) {
              Tensor[] element = batch.take(batch.size() - 1);
              seen[element[0].intValue()]++;
              Elements.release(element);
            }
            ended = read < n;
            left -= read;
            taken += read;
            write(mine.position(), ledger.row(w));
          }
        }
      }
    }
    return taken;
  }

  private static int one(Elements from, RowBuffer to) {
    Tensor[] element = from.next();
    if (element != null) {
      to.add(element);
    }
    return to.size();
  }

  @ParameterizedTest
  @CsvSource({"1,1", "2,1", "3,2", "4,3", "5,4", "6,5", "7,9", "8,9", "9,20", "10,20"})
  void everyElementIsTrainedOnceInAnEpochWhoeverTrains(long seed, int parts) {
    SplittableRandom random = new SplittableRandom(seed);
    Dataset data = data(parts);
    PartSizes sizes = new PartSizes(data);
    int total = 0;
    for (int epochs = 1; epochs <= 4; epochs++) {
      for (int run = 0; run < 5; run++) {
        int[] takes = new int[1 + random.nextInt(5)];
        Arrays.setAll(takes, i -> random.nextInt(8));
        total += train(data, epochs, takes);
        InputLedger three = InputLedger.of(table, 3, parts);
        long shares = 0;
        for (int i = 0; i < 3; i++) {
          shares += three.left(i, epochs, sizes::of);
        }
        assertEquals(epochs * ELEMENTS - total, shares);
      }
      // The epoch ends with some other workers.
      int[] rest = new int[1 + random.nextInt(5)];
      Arrays.fill(rest, ELEMENTS);
      total += train(data, epochs, rest);
      int[] all = new int[ELEMENTS];
      Arrays.fill(all, epochs);
      assertArrayEquals(all, seen, "epoch " + epochs);
      assertEquals(epochs * ELEMENTS, total);
    }
  }

  @Test
  void workersReadNoMoreThanTheirParts() {
    Dataset data = data(9);
    assertEquals(ELEMENTS, train(data, 1, ELEMENTS, ELEMENTS, ELEMENTS));
    assertEquals(ELEMENTS, made.get());
    made.set(0);
    assertEquals(2 * ELEMENTS, train(data, 3, ELEMENTS, ELEMENTS, 2 * ELEMENTS));
    assertEquals(2 * ELEMENTS, made.get());
    // With fewer parts than workers there is no other way than to deal the elements.
    made.set(0);
    assertEquals(ELEMENTS, train(data(2), 4, ELEMENTS, ELEMENTS, ELEMENTS, ELEMENTS));
    assertEquals(4 * ELEMENTS, made.get());
  }

  @Test
  void everyWorkerHasPartsOfAnEpoch() {
    for (int workers = 1; workers <= 9; workers++) {
      InputLedger ledger = InputLedger.of(new long[table.length], workers, 9);
      int most = 0;
      int least = 9;
      for (int w = 0; w < workers; w++) {
        int n = ledger.shares(w, 5, 9).size();
        most = Math.max(most, n);
        least = Math.min(least, n);
      }
      assertTrue(least > 0 && most - least <= 1, workers + " workers");
    }
  }

  @Test
  void theSameNumberOfWorkersGoesOnInTheSameRows() {
    Dataset data = data(1);
    train(data, Long.MAX_VALUE, 4, 2);
    InputLedger again = InputLedger.of(table, 2, 1);
    assertEquals(0, again.header());
    assertArrayEquals(new long[] {0, 0, 4}, again.position(0));
    assertArrayEquals(new long[] {0, 0, 2}, again.position(1));
  }

  @Test
  void aWorkerThatNeverBeganStartsWhereItsGenerationDid() {
    Dataset data = data(1);
    train(data, Long.MAX_VALUE, ELEMENTS + 3);
    train(data, Long.MAX_VALUE, 5, 0);
    InputLedger ledger = InputLedger.of(table, 2, 1);
    assertArrayEquals(new long[] {1, 0, 0}, ledger.position(1));
  }

  @Test
  void moreWorkersThanElementsAreRefused() {
    Dataset two = Datasets.generated(2, i -> new Tensor[] {Tensor.scalar(i)});
    InputLedger ledger = InputLedger.of(table, 3, 1);
    try (Elements third = new DealtData(two, ledger, 2, Long.MAX_VALUE).elements()) {
      MillraceException e = assertThrows(MillraceException.class, third::next);
      assertTrue(e.getMessage().startsWith("Worker 2 has no training data"), e.getMessage());
    }
  }

  @Test
  void dataThatBecameShorterIsRefused() {
    train(data(1), Long.MAX_VALUE, ELEMENTS - 1);
    Dataset few = Datasets.generated(5, i -> new Tensor[] {Tensor.scalar(i)});
    InputLedger ledger = InputLedger.of(table, 1, 1);
    try (Elements e = new DealtData(few, ledger, 0, Long.MAX_VALUE).elements()) {
      e.seek(ledger.position(0));
      MillraceException x = assertThrows(MillraceException.class, e::next);
      assertTrue(x.getMessage().contains("which has fewer now"), x.getMessage());
    }
  }
}
