package dev.millrace.ops.dataset;

import dev.millrace.base.Cancellation;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.resource.Resources;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;

/**
 * A dataset that keeps the elements of another in memory from the first whole walk through it on.
 *
 * <p>Threading: any thread.
 */
final class Cache extends DatasetValue {
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
                          Refs.ofObjects(
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

  private final DatasetValue input;

  /** What all walks read once one of them has reached the end; null until then. */
  private List<Tensor[]> kept;

  /** One in memory, unless there is a name for a file. */
  private static DatasetValue of(KernelContext c) {
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
    elements.forEach(DatasetElements::release);
    elements.clear();
  }

  @Override
  DatasetElements elements(Iteration iteration) {
    List<Tensor[]> whole = kept();
    return whole == null ? new Filling(input.elements(iteration)) : new Reading(whole);
  }

  private static final class Reading extends DatasetElements {
    private final List<Tensor[]> all;
    private int at;

    Reading(List<Tensor[]> all) {
      this.all = all;
    }

    @Override
    Tensor[] next(Cancellation c) {
      return at < all.size() ? Refs.retainAll(all.get(at++)) : null;
    }

    @Override
    boolean isReady() {
      return true;
    }
  }

  private final class Filling extends Sequences.Through {
    private final List<Tensor[]> seen = new ArrayList<>();
    private boolean over;

    Filling(DatasetElements input) {
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
      seen.add(Refs.retainAll(element));
      return element;
    }

    @Override
    public void close() {
      seen.forEach(DatasetElements::release);
      seen.clear();
      super.close();
    }
  }
}
