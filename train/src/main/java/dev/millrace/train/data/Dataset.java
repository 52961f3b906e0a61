package dev.millrace.train.data;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.OptionalLong;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;

/**
 * Where elements for training come from. A dataset is a description; {@link #elements} starts a
 * passage. All that it does is determined by its seeds, so a passage can be continued in another
 * process from a {@link Elements#position}.
 *
 * <p>Threading: immutable; any thread.
 */
public interface Dataset {
  /** Starts a passage at the beginning. */
  Elements elements();

  /** How many numbers a position of this dataset has. */
  int positionLength();

  /**
   * The parts in which repetition number {@code epoch} can be read, in the order in which they are
   * to be read; none if it can only be read as a whole. The parts together have every element once.
   * Their number and what is in them depend on the data alone, so each can be read by another
   * process than the others, which need not read it.
   */
  default List<Dataset> splits(long epoch) {
    return List.of();
  }

  /** How many elements a passage has, if that is known without reading them. */
  default OptionalLong knownSize() {
    return OptionalLong.empty();
  }

  /** Each element replaced by what {@code function} makes of it, which takes it over. */
  default Dataset map(Function<Tensor[], Tensor[]> function) {
    return new Mapped(this, function);
  }

  /**
   * The same with {@code threads} threads, which run {@code function} on several elements at once.
   *
   * @param ordered whether the elements keep their order; without, one that takes long does not
   *     hold up the others
   */
  default Dataset map(Function<Tensor[], Tensor[]> function, int threads, boolean ordered) {
    if (threads < 1) {
      throw MillraceException.invalid("At least 1 thread maps elements, not %d.", threads);
    }
    return new ParallelMapped(this, function, threads, ordered);
  }

  /** The elements for which {@code test}, which borrows them, is true. */
  default Dataset filter(Predicate<Tensor[]> test) {
    return new Filtered(this, test);
  }

  /** The first {@code n} elements, or all if there are fewer. */
  default Dataset take(long n) {
    if (n < 0) {
      throw MillraceException.invalid("At least 0 elements are taken, not %d.", n);
    }
    return new Taken(this, n);
  }

  /** What {@code function} makes of this dataset, such as a cache or buckets. */
  default Dataset apply(UnaryOperator<Dataset> function) {
    return function.apply(this);
  }

  /**
   * Every {@code n}th element, beginning with number {@code i}: the shards 0 to n - 1 together have
   * every element once.
   */
  default Dataset shard(int n, int i) {
    if (n < 1 || i < 0 || i >= n) {
      throw MillraceException.invalid(
          "There is no shard %d of %d; shards are numbered from 0.", i, n);
    }
    return new Shard(this, n, i);
  }

  /**
   * The elements in an order drawn from a buffer of {@code size} of them, another order in every
   * repetition. With a buffer as large as the dataset, every order is equally likely. Of a dataset
   * in splits, the order of these is drawn too, and the elements of each among themselves.
   */
  default Dataset shuffle(int size, long seed) {
    if (size < 1) {
      throw MillraceException.invalid("A shuffle needs a buffer of at least 1, not %d.", size);
    }
    return new Shuffled(this, size, seed);
  }

  /** The dataset {@code times} times over; negative for without end. */
  default Dataset repeat(long times) {
    return new Repeated(this, times);
  }

  /** The dataset over and over without end. */
  default Dataset repeat() {
    return repeat(-1);
  }

  /** Elements stacked {@code size} at a time; a last batch of fewer is dropped if asked. */
  default Dataset batch(int size, boolean dropRemainder) {
    if (size < 1) {
      throw MillraceException.invalid("A batch has at least 1 element, not %d.", size);
    }
    return new Batched(this, size, dropRemainder);
  }

  /** Elements made ahead of time by a thread of its own, at most {@code size} of them. */
  default Dataset prefetch(int size) {
    if (size < 1) {
      throw MillraceException.invalid("At least 1 element is prefetched, not %d.", size);
    }
    return new Prefetched(this, size);
  }
}
