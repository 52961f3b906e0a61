package dev.millrace.ops.dataset;

import dev.millrace.base.Cancellation;
import dev.millrace.graph.op.KernelContext;
import dev.millrace.graph.op.Op;
import dev.millrace.graph.op.Resources;
import dev.millrace.graph.op.Shapes;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;

/**
 * A dataset that keeps the elements of another in memory from the first whole walk through it on.
 *
 * <p>Threading: any thread.
 */
final class Cache extends Dataset {
  static final List<Op> ALL =
      List.of(
          giving(
              define("CacheDataset").input("input_dataset: variant").input("filename: string"),
              Cache::of),
          giving(
              define("CacheDatasetV2")
                  .input("input_dataset: variant")
                  .input("filename: string")
                  .input("cache: resource")
                  .stateful(),
              Cache::of),
          Op.define("DummyMemoryCache")
              .output("handle: resource")
              .stateful()
              .shape(Shapes.scalar())
              .kernel(
                  c ->
                      c.output(
                          0,
                          Tensor.ofObjects(
                              DType.RESOURCE,
                              Shape.scalar(),
                              new Object[] {
                                new Resources.Handle(
                                    c.node().device(),
                                    Resources.DEFAULT_CONTAINER,
                                    "dummy_memory_cache",
                                    "Dummy")
                              })))
              .noGradient("it is a handle")
              .build());

  private final Dataset input;

  /** What all walks read once one of them has reached the end; null until then. */
  private List<Tensor[]> kept;

  /** One in memory, unless there is a name for a file. */
  private static Dataset of(KernelContext c) {
    return text(c, 1).isEmpty() ? new Cache(c) : new FileCache(c);
  }

  private Cache(KernelContext c) {
    super(typesOf(c.node()), shapesOf(c.node()));
    input = holdInput(c, 0);
  }

  @Override
  long cardinality() {
    return input.cardinality();
  }

  private synchronized List<Tensor[]> kept() {
    return kept;
  }

  /** Takes over the elements of a whole walk, unless another was first. */
  private synchronized void keep(List<Tensor[]> elements) {
    if (kept == null) {
      kept = List.copyOf(elements);
      elements.forEach(e -> List.of(e).forEach(this::hold));
    }
    elements.forEach(Elements::release);
    elements.clear();
  }

  @Override
  Elements elements(Iteration iteration) {
    List<Tensor[]> whole = kept();
    return whole == null ? new Filling(input.elements(iteration)) : new Reading(whole);
  }

  private static Tensor[] retained(Tensor[] element) {
    for (Tensor t : element) {
      t.retain();
    }
    return element.clone();
  }

  private static final class Reading extends Elements {
    private final List<Tensor[]> all;
    private int at;

    Reading(List<Tensor[]> all) {
      this.all = all;
    }

    @Override
    Tensor[] next(Cancellation c) {
      return at < all.size() ? retained(all.get(at++)) : null;
    }

    @Override
    boolean isReady() {
      return true;
    }
  }

  private final class Filling extends Sequences.Through {
    private final List<Tensor[]> seen = new ArrayList<>();
    private boolean over;

    Filling(Elements input) {
      super(input);
    }

    @Override
    Tensor[] next(Cancellation c) {
      if (over) {
        return null;
      }
      Tensor[] element = input.next(c);
      if (element == null) {
        over = true;
        keep(seen);
        return null;
      }
      seen.add(retained(element));
      return element;
    }

    @Override
    public void close() {
      seen.forEach(Elements::release);
      seen.clear();
      super.close();
    }
  }
}
