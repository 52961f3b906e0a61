package dev.millrace.job.input;

import dev.millrace.base.MillraceException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Which examples a job has trained, in a form that does not depend on how many workers there are.
 *
 * <p>The elements of an epoch come in one order that all workers know. They are dealt one by one:
 * element {@code p} to worker {@code p % workers}. Each worker notes how far it is: in which epoch,
 * and how many elements of that it has taken. When the job goes on with another number of workers,
 * a new generation begins, which deals the elements that the earlier ones have left, in their
 * order. So every element is trained once in every epoch, whoever trains it.
 *
 * <p>The notes are the rows of a table of two columns. A generation is a row with its number of
 * workers, and a row for each of them with epoch and count. The first row without workers ends it.
 */
public final class InputLedger {
  /** How many rows the table has: 64 KiB in the checkpoint, some hundred generations. */
  public static final int ROWS = 4096;

  /** The columns of the table: epoch and count. */
  public static final int COLUMNS = 2;

  private record Generation(int workers, long[] epochs, long[] counts) {
    /** How many elements of {@code epoch} worker {@code i} has taken. */
    long taken(int i, long epoch) {
      return epochs[i] > epoch ? Long.MAX_VALUE : epochs[i] == epoch ? counts[i] : 0;
    }

    /** How many of the {@code dealt} elements of {@code epoch} all its workers have taken. */
    long taken(long epoch, long dealt) {
      long sum = 0;
      for (int i = 0; i < workers; i++) {
        sum += Math.min(taken(i, epoch), share(dealt, i, workers));
      }
      return sum;
    }

    long firstEpoch() {
      return Arrays.stream(epochs).min().orElseThrow();
    }
  }

  private final List<Generation> earlier;
  private final Generation own;
  private final int header;

  private InputLedger(List<Generation> earlier, Generation own, int header) {
    this.earlier = earlier;
    this.own = own;
    this.header = header;
  }

  /** Reads a table for a job of {@code workers}, as a new generation if their number is new. */
  public static InputLedger of(long[] table, int workers) {
    List<Generation> all = new ArrayList<>();
    int row = 0;
    int last = 0;
    long start = 0;
    while (row < ROWS && table[row * COLUMNS] > 0) {
      last = row;
      int n = Math.toIntExact(table[row * COLUMNS]);
      long[] epochs = new long[n];
      long[] counts = new long[n];
      for (int i = 0; i < n; i++) {
        int at = (row + 1 + i) * COLUMNS;
        // A worker that has not begun is where its generation began.
        epochs[i] = Math.max(table[at], start);
        counts[i] = table[at] < start ? 0 : table[at + 1];
      }
      all.add(new Generation(n, epochs, counts));
      start = all.getLast().firstEpoch();
      row += 1 + n;
    }
    if (!all.isEmpty() && all.getLast().workers == workers) {
      return new InputLedger(all.subList(0, all.size() - 1), all.getLast(), last);
    }
    if (row + 1 + workers >= ROWS) {
      throw MillraceException.failedPrecondition(
          "The job cannot go on with %d workers: it has changed their number %d times, and there is"
              + " no room to note another. Go on with %d workers.",
          workers, all.size() - 1, all.isEmpty() ? 1 : all.getLast().workers);
    }
    long[] epochs = new long[workers];
    Arrays.fill(epochs, start);
    return new InputLedger(all, new Generation(workers, epochs, new long[workers]), row);
  }

  /** The row that says how many workers this generation has. */
  public int header() {
    return header;
  }

  /** The row of worker {@code i}. */
  public int row(int i) {
    return header + 1 + i;
  }

  /** Where worker {@code i} is: the epoch and how many elements of it it has taken. */
  public long[] position(int i) {
    return new long[] {own.epochs[i], own.counts[i]};
  }

  /**
   * How many elements worker {@code i} has still to take before it has had its share of the first
   * {@code epochs} epochs, each of {@code elements} elements.
   */
  public long left(int i, long epochs, long elements) {
    long left = 0;
    for (long e = own.epochs[i]; e < epochs; e++) {
      long dealt = elements;
      for (Generation g : earlier) {
        dealt -= g.taken(e, dealt);
      }
      left += share(dealt, i, own.workers) - (e == own.epochs[i] ? own.counts[i] : 0);
    }
    return left;
  }

  /** How many of {@code elements} fall to worker {@code i} of {@code workers}. */
  private static long share(long elements, int i, int workers) {
    return elements / workers + (i < elements % workers ? 1 : 0);
  }

  /** Whether some elements of {@code epoch} were taken by earlier generations. */
  boolean isBegun(long epoch) {
    return earlier.stream()
        .anyMatch(
            g -> {
              for (int i = 0; i < g.workers; i++) {
                if (g.taken(i, epoch) > 0) {
                  return true;
                }
              }
              return false;
            });
  }

  /** Deals the elements of {@code epoch}, from the first one on. */
  Dealer deal(long epoch) {
    return new Dealer(epoch);
  }

  /** Says of each element of an epoch whose it is. */
  final class Dealer {
    private final long epoch;
    private final long[] seen = new long[earlier.size()];
    private long left;

    private Dealer(long epoch) {
      this.epoch = epoch;
    }

    /** Which worker the next element falls to; -1 if it was taken before. */
    int next() {
      for (int g = 0; g < seen.length; g++) {
        Generation generation = earlier.get(g);
        long p = seen[g]++;
        if (p / generation.workers < generation.taken((int) (p % generation.workers), epoch)) {
          return -1;
        }
      }
      return (int) (left++ % own.workers);
    }
  }
}
