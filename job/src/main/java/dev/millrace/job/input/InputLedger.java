package dev.millrace.job.input;

import dev.millrace.base.MillraceException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.LongFunction;

/**
 * Which examples a job has trained, in a form that does not depend on how many workers there are.
 *
 * <p>The data of an epoch has parts, in an order that all workers know. If there are at least as
 * many parts as workers, each worker has some of the parts and reads no other: part {@code r} of
 * epoch {@code e} belongs to worker {@code (r + e) % workers}. If there are fewer, the elements of
 * each part are dealt one by one: element {@code q} of part {@code r} to worker {@code (q + r) %
 * workers}. Each worker notes how far it is: in which epoch, in which of its parts, and how many
 * elements of that it has taken. When the job goes on with another number of workers, a new
 * generation begins, which deals what the earlier ones have left, in its order. So every element is
 * trained once in every epoch, whoever trains it.
 *
 * <p>The notes are the rows of a table. A generation is a row with its number of workers and
 * whether it deals single elements, and a row for each worker with epoch, part and count. The first
 * row without workers ends it.
 */
public final class InputLedger {
  /** How many rows the table has: 96 KiB in the checkpoint, some hundred generations. */
  public static final int ROWS = 4096;

  /** The columns of the table: epoch, part and count. */
  public static final int COLUMNS = 3;

  /** Some workers, and how far each of them is. */
  private record Generation(int workers, boolean byElement, long[][] positions) {
    /** How many elements of its part number {@code k} of {@code epoch} worker {@code i} has. */
    long taken(int i, long epoch, long k) {
      long[] p = positions[i];
      if (p[0] != epoch) {
        return p[0] > epoch ? Long.MAX_VALUE : 0;
      }
      return p[1] > k ? Long.MAX_VALUE : p[1] == k ? p[2] : 0;
    }

    long firstEpoch() {
      return Arrays.stream(positions).mapToLong(p -> p[0]).min().orElseThrow();
    }
  }

  /**
   * What a generation has of a part of an epoch.
   *
   * @param rank the number of the part among those that the generations before have not finished
   */
  private record Turn(Generation generation, int rank, long epoch) {
    /** The worker whose part it is, if it is that of one worker. */
    int owner() {
      return (int) ((rank + epoch) % generation.workers);
    }

    /** The number of the part among those of a worker that has it. */
    int place() {
      return generation.byElement ? rank : rank / generation.workers;
    }

    /** How many of its elements worker {@code i} has taken. */
    long takenBy(int i) {
      return generation.taken(i, epoch, place());
    }

    boolean isFinished() {
      if (!generation.byElement) {
        return takenBy(owner()) == Long.MAX_VALUE;
      }
      for (int i = 0; i < generation.workers; i++) {
        if (takenBy(i) < Long.MAX_VALUE) {
          return false;
        }
      }
      return true;
    }

    boolean isBegun() {
      for (int i = 0; i < generation.workers; i++) {
        if ((generation.byElement || i == owner()) && takenBy(i) > 0) {
          return true;
        }
      }
      return false;
    }

    /** The worker whose element {@code q} of the part is. */
    int owner(long q) {
      return generation.byElement ? (int) ((q + rank) % generation.workers) : owner();
    }

    /** Whether element {@code q} of the part was taken. */
    boolean has(long q) {
      return (generation.byElement ? q / generation.workers : q) < takenBy(owner(q));
    }

    /** How many of {@code elements} fall to worker {@code i}, which has the part. */
    long share(long elements, int i) {
      if (!generation.byElement) {
        return elements;
      }
      long first = Math.floorMod(i - rank, generation.workers);
      return first < elements ? (elements - 1 - first) / generation.workers + 1 : 0;
    }

    /** How many of {@code elements} were taken. */
    long takenOf(long elements) {
      if (!generation.byElement) {
        return Math.min(elements, takenBy(owner()));
      }
      long sum = 0;
      for (int i = 0; i < generation.workers; i++) {
        sum += Math.min(share(elements, i), takenBy(i));
      }
      return sum;
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

  /**
   * Reads a table for a job of {@code workers} whose data has {@code parts}, as a new generation if
   * the number of workers is new.
   */
  public static InputLedger of(long[] table, int workers, int parts) {
    List<Generation> all = new ArrayList<>();
    int row = 0;
    int last = 0;
    long start = 0;
    while (row < ROWS && table[row * COLUMNS] > 0) {
      last = row;
      int n = Math.toIntExact(table[row * COLUMNS]);
      long[][] positions = new long[n][];
      for (int i = 0; i < n; i++) {
        int at = (row + 1 + i) * COLUMNS;
        // A worker that has not begun is where its generation began.
        positions[i] =
            table[at] < start
                ? new long[] {start, 0, 0}
                : Arrays.copyOfRange(table, at, at + COLUMNS);
      }
      all.add(new Generation(n, table[row * COLUMNS + 1] != 0, positions));
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
    long[][] positions = new long[workers][];
    for (int i = 0; i < workers; i++) {
      positions[i] = new long[] {start, 0, 0};
    }
    return new InputLedger(all, new Generation(workers, parts < workers, positions), row);
  }

  /** The number of the row that says how many workers this generation has. */
  public int header() {
    return header;
  }

  /** What is in that row. */
  public long[] headerRow() {
    return new long[] {own.workers, own.byElement ? 1 : 0, 0};
  }

  /** The row of worker {@code i}. */
  public int row(int i) {
    return header + 1 + i;
  }

  /** Where worker {@code i} is: the epoch, which of its parts, and how many elements it has. */
  public long[] position(int i) {
    return own.positions[i].clone();
  }

  /**
   * How many elements worker {@code i} has still to take before it has had its share of the first
   * {@code epochs} epochs.
   *
   * @param sizes how many elements each part of an epoch has
   */
  public long left(int i, long epochs, LongFunction<long[]> sizes) {
    long left = 0;
    for (long e = own.positions[i][0]; e < epochs; e++) {
      long[] elements = sizes.apply(e);
      for (Share s : shares(i, e, elements.length)) {
        long rest = elements[s.part];
        for (Turn t : s.before) {
          rest -= t.takenOf(rest);
        }
        long share = s.own.share(rest, i);
        left += share - Math.min(share, s.own.takenBy(i));
      }
    }
    return left;
  }

  /** Whether some elements of {@code epoch} were taken by earlier generations. */
  boolean isBegun(long epoch) {
    for (Generation g : earlier) {
      for (int i = 0; i < g.workers; i++) {
        if (g.taken(i, epoch, 0) > 0) {
          return true;
        }
      }
    }
    return false;
  }

  /** The parts of {@code epoch} that worker {@code i} has, in their order. */
  List<Share> shares(int i, long epoch, int parts) {
    List<List<Turn>> before = new ArrayList<>();
    List<Integer> left = new ArrayList<>();
    for (int p = 0; p < parts; p++) {
      before.add(new ArrayList<>());
      left.add(p);
    }
    for (Generation g : earlier) {
      List<Integer> unfinished = new ArrayList<>();
      for (int rank = 0; rank < left.size(); rank++) {
        Turn turn = new Turn(g, rank, epoch);
        if (!turn.isFinished()) {
          unfinished.add(left.get(rank));
          if (turn.isBegun()) {
            before.get(left.get(rank)).add(turn);
          }
        }
      }
      left = unfinished;
    }
    List<Share> shares = new ArrayList<>();
    for (int rank = 0; rank < left.size(); rank++) {
      Turn turn = new Turn(own, rank, epoch);
      if (own.byElement || turn.owner() == i) {
        shares.add(new Share(i, left.get(rank), before.get(left.get(rank)), turn));
      }
    }
    return shares;
  }

  /** What a worker has of a part. */
  static final class Share {
    private final int worker;
    private final int part;
    private final List<Turn> before;
    private final Turn own;

    /** How many elements have reached each generation, while they are dealt. */
    private final long[] reached;

    private Share(int worker, int part, List<Turn> before, Turn own) {
      this.worker = worker;
      this.part = part;
      this.before = before;
      this.own = own;
      reached = new long[before.size() + 1];
    }

    /** The number of the part in the epoch. */
    int part() {
      return part;
    }

    /** Whether all is the worker's that stands behind the first {@link #taken} elements. */
    boolean isWhole() {
      return !own.generation.byElement && before.stream().noneMatch(t -> t.generation.byElement);
    }

    /** How many elements at the beginning were taken before, where the rest is whole. */
    long taken() {
      return before.stream().mapToLong(t -> t.takenBy(t.owner())).sum();
    }

    /** Whether the next element of the part, from the first one on, falls to the worker. */
    boolean deal() {
      for (int g = 0; g < before.size(); g++) {
        if (before.get(g).has(reached[g]++)) {
          return false;
        }
      }
      return own.owner(reached[before.size()]++) == worker;
    }
  }
}
