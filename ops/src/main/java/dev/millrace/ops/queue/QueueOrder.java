package dev.millrace.ops.queue;

import dev.millrace.tensor.Tensor;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import java.util.SplittableRandom;

/**
 * The elements of a queue and the order in which they leave it.
 *
 * <p>Threading: under the queue's lock.
 */
interface QueueOrder {
  int size();

  void add(Tensor[] element);

  /** Removes the element whose turn it is. There is one. */
  Tensor[] take();

  /** Takes elements back that were taken last, in the order in which they were. */
  void putBack(List<Tensor[]> taken);

  /** How many elements a dequeue that wants this many more may take now. */
  default int available(int wanted, boolean closed) {
    return size();
  }

  /** First in, first out. */
  final class Fifo implements QueueOrder {
    private final ArrayDeque<Tensor[]> elements = new ArrayDeque<>();

    @Override
    public int size() {
      return elements.size();
    }

    @Override
    public void add(Tensor[] element) {
      elements.addLast(element);
    }

    @Override
    public Tensor[] take() {
      return elements.removeFirst();
    }

    @Override
    public void putBack(List<Tensor[]> taken) {
      taken.reversed().forEach(elements::addFirst);
    }
  }

  /** Any one at random, with a number of them kept back until the queue is closed. */
  final class Shuffled implements QueueOrder {
    private final List<Tensor[]> elements = new ArrayList<>();
    private final int keptBack;
    private final SplittableRandom random;

    Shuffled(int keptBack, SplittableRandom random) {
      this.keptBack = keptBack;
      this.random = random;
    }

    @Override
    public int size() {
      return elements.size();
    }

    @Override
    public void add(Tensor[] element) {
      elements.add(element);
    }

    @Override
    public Tensor[] take() {
      int i = random.nextInt(elements.size());
      Tensor[] last = elements.removeLast();
      return i == elements.size() ? last : elements.set(i, last);
    }

    @Override
    public void putBack(List<Tensor[]> taken) {
      elements.addAll(taken);
    }

    @Override
    public int available(int wanted, boolean closed) {
      return closed ? size() : Math.max(0, size() - keptBack);
    }
  }

  /** The smallest first component first, and among those the oldest. */
  final class ByPriority implements QueueOrder {
    private record Entry(long priority, long age, Tensor[] element) {}

    private final PriorityQueue<Entry> entries =
        new PriorityQueue<>(
            Comparator.comparingLong(Entry::priority).thenComparingLong(Entry::age));
    private long youngest;
    private long oldest;

    @Override
    public int size() {
      return entries.size();
    }

    @Override
    public void add(Tensor[] element) {
      entries.add(new Entry(element[0].longAt(0), youngest++, element));
    }

    @Override
    public Tensor[] take() {
      return entries.remove().element();
    }

    /** All or none: elements taken as they arrive would be out of order. */
    @Override
    public int available(int wanted, boolean closed) {
      return closed || size() >= wanted ? size() : 0;
    }

    @Override
    public void putBack(List<Tensor[]> taken) {
      for (Tensor[] element : taken.reversed()) {
        entries.add(new Entry(element[0].longAt(0), --oldest, element));
      }
    }
  }
}
