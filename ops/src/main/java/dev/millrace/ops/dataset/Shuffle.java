package dev.millrace.ops.dataset;

import dev.millrace.base.Cancellation;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.ops.state.ResourceHandles;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.random.Philox;
import java.util.ArrayList;
import java.util.List;

/**
 * A dataset of the elements of another in random order: each is drawn from a buffer, where the next
 * of the other takes its place. The same seeds give TensorFlow's order.
 */
final class Shuffle extends DatasetValue {
  /** From how many rounds, the one that is drawn from not counted, the buffer holds elements. */
  private static final int MOST_ROUNDS = 3;

  static final List<Op> ALL =
      List.of(
          giving(
              seeded("ShuffleDataset").attr("reshuffle_each_iteration: bool = true"),
              c -> new Shuffle(c, seeds(c), 1)),
          giving(
              seeded("ShuffleDatasetV3")
                  .attr("reshuffle_each_iteration: bool = true")
                  .input("seed_generator: resource")
                  .stateful(),
              c -> new Shuffle(c, seeds(c, 4), 1)),
          giving(
              seeded("ShuffleAndRepeatDataset")
                  .attr("reshuffle_each_iteration: bool = true")
                  .input("count: int64"),
              c -> new Shuffle(c, seeds(c), number(c, 4))),
          giving(
              seeded("ShuffleAndRepeatDatasetV2")
                  .attr("reshuffle_each_iteration: bool = true")
                  .input("count: int64")
                  .input("seed_generator: resource")
                  .stateful(),
              c -> new Shuffle(c, seeds(c, 5), number(c, 4))),
          Op.define("DummySeedGenerator")
              .output("handle: resource")
              .stateful()
              .shape(Shapes.scalar())
              .kernel(c -> c.output(0, SeedGenerator.dummyHandle(c)))
              .noGradient("it is a handle")
              .build());

  private static Op.Builder seeded(String name) {
    return define(name)
        .input("input_dataset: variant")
        .input("buffer_size: int64")
        .input("seed: int64")
        .input("seed2: int64");
  }

  private static SeedGenerator seeds(KernelContext c) {
    return new SeedGenerator(
        number(c, 2), number(c, 3), c.node().booleanAttr("reshuffle_each_iteration"));
  }

  /** The seeds of a generator, where the input is the handle of one; else those of the node. */
  private static SeedGenerator seeds(KernelContext c, int handle) {
    SeedGenerator shared =
        c.resources()
            .find(
                ResourceHandles.at(c, handle).container(),
                ResourceHandles.at(c, handle).name(),
                SeedGenerator.class);
    return shared != null ? shared : seeds(c);
  }

  private final DatasetValue input;
  private final long size;
  private final SeedGenerator seeds;
  private final long count;

  private Shuffle(KernelContext c, SeedGenerator seeds, long count) {
    long size = number(c, 1);
    this.size = size;
    this.seeds = seeds;
    this.count = count;
    if (size < 1 && size != -1) {
      throw MillraceException.invalid(
          "buffer_size must be greater than zero or UNKNOWN_CARDINALITY");
    }
    if (count == 0 || count < -1) {
      throw MillraceException.invalid("count must be greater than zero or equal to -1.");
    }
    super(typesOf(c.node()), shapesOf(c.node()));
    input = holdInput(c, 0);
  }

  @Override
  long cardinality() {
    long n = input.cardinality();
    return count < 0 ? (n == 0 ? 0 : INFINITE) : n < 0 ? n : n * count;
  }

  @Override
  DatasetElements elements(Iteration iteration) {
    return new Shuffled(iteration);
  }

  /** Draws from the elements of one round until they are gone, while those of the next come in. */
  private final class Shuffled extends DatasetElements {
    private final Iteration iteration;
    private Philox.Cursor random = cursor();
    private DatasetElements current;
    private long rounds;

    /** The buffer; of each round it holds elements, the parts in the order of rounds. */
    private final List<List<Tensor[]>> parts = new ArrayList<>();

    private long held;
    private boolean over;
    private boolean anyInRound;

    Shuffled(Iteration iteration) {
      this.iteration = iteration;
    }

    private Philox.Cursor cursor() {
      long[] next = seeds.next();
      return Philox.ofSeeds(next[0], next[1]).cursor();
    }

    @Override
    Tensor[] next(Cancellation c) {
      fill(c);
      if (held == 0) {
        return null;
      }
      while (parts.getFirst().isEmpty()) {
        parts.removeFirst();
        random = cursor();
      }
      List<Tensor[]> first = parts.getFirst();
      long drawn = Integer.toUnsignedLong(random.nextInt()) % first.size();
      return remove(first, (int) drawn);
    }

    /** The one drawn goes, the first takes its place: the rest stays as TensorFlow's buffer is. */
    private Tensor[] remove(List<Tensor[]> part, int drawn) {
      held--;
      Tensor[] element = part.set(drawn, part.getFirst());
      ((Ring) part).dropFirst();
      return element;
    }

    private void fill(Cancellation c) {
      while (!over && (size < 0 || held < size) && (parts.size() <= MOST_ROUNDS || held == 0)) {
        c.check();
        if (current == null) {
          current = input.elements(iteration);
          parts.add(new Ring());
          anyInRound = false;
        }
        Tensor[] element = current.next(c);
        if (element != null) {
          parts.getLast().add(element);
          held++;
          anyInRound = true;
          continue;
        }
        current.close();
        current = null;
        rounds++;
        over = count < 0 ? !anyInRound : rounds >= count;
      }
    }

    @Override
    public void close() {
      if (current != null) {
        current.close();
        current = null;
      }
      for (List<Tensor[]> part : parts) {
        for (Tensor[] element : part) {
          release(element);
        }
      }
      parts.clear();
      held = 0;
      over = true;
    }
  }

  /** A list whose first element can be dropped without moving the others. */
  private static final class Ring extends java.util.AbstractList<Tensor[]> {
    private Tensor[][] slots = new Tensor[16][];
    private int start;
    private int size;

    private int slot(int i) {
      return (start + java.util.Objects.checkIndex(i, size)) % slots.length;
    }

    @Override
    public Tensor[] get(int i) {
      return slots[slot(i)];
    }

    @Override
    public Tensor[] set(int i, Tensor[] value) {
      int at = slot(i);
      Tensor[] before = slots[at];
      slots[at] = value;
      return before;
    }

    @Override
    public boolean add(Tensor[] value) {
      if (size == slots.length) {
        Tensor[][] more = new Tensor[slots.length * 2][];
        for (int i = 0; i < size; i++) {
          more[i] = get(i);
        }
        slots = more;
        start = 0;
      }
      size++;
      set(size - 1, value);
      return true;
    }

    void dropFirst() {
      slots[start] = null;
      start = (start + 1) % slots.length;
      size--;
    }

    @Override
    public int size() {
      return size;
    }
  }
}
