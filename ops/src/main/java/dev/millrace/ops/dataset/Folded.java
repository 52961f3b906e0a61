package dev.millrace.ops.dataset;

import dev.millrace.base.Cancellation;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Tensor;
import java.util.Arrays;
import java.util.List;

/** A state that goes from element to element, and the one value a dataset comes down to. */
final class Folded {
  private static final Op REDUCE =
      Op.define("ReduceDataset")
          .attr("f: func")
          .attr("Tstate: list(type) >= 1")
          .attr("Targuments: list(type) >= 0")
          .attr("output_types: list(type) >= 1")
          .attr("output_shapes: list(shape) >= 1")
          .attr("use_inter_op_parallelism: bool = true")
          .attr("metadata: string = ''")
          .input("input_dataset: variant")
          .input("initial_state: Tstate")
          .input("other_arguments: Targuments")
          .output("components: output_types")
          .stateful()
          .shape(c -> c.node().shapesAttr("output_shapes"))
          .asyncKernel(node -> DataThreads.kernel(Folded::reduce))
          .noGradient("what a dataset holds depends on nothing that is trained")
          .build();

  private static final Op SINGLE =
      Op.define("DatasetToSingleElement")
          .attr("output_types: list(type) >= 1")
          .attr("output_shapes: list(shape) >= 1")
          .attr("metadata: string = ''")
          .input("dataset: variant")
          .output("components: output_types")
          .stateful()
          .shape(c -> c.node().shapesAttr("output_shapes"))
          .asyncKernel(node -> DataThreads.kernel(Folded::single))
          .noGradient("what a dataset holds depends on nothing that is trained")
          .build();

  static final List<Op> ALL =
      List.of(
          REDUCE,
          SINGLE,
          DatasetValue.giving(
              DatasetValue.define("ScanDataset")
                  .attr("f: func")
                  .attr("Tstate: list(type) >= 1")
                  .attr("Targuments: list(type) >= 0")
                  .attr("preserve_cardinality: bool = false")
                  .attr("use_default_device: bool = true")
                  .input("input_dataset: variant")
                  .input("initial_state: Tstate")
                  .input("other_arguments: Targuments"),
              Scan::new),
          DatasetValue.giving(
              MapDatasets.calling("TakeWhileDataset", "predicate"), TakeWhile::new));

  private Folded() {}

  private static Tensor[] joined(Tensor[] a, Tensor[] b) {
    Tensor[] both = Arrays.copyOf(a, a.length + b.length);
    System.arraycopy(b, 0, both, a.length, b.length);
    return both;
  }

  private static void reduce(KernelContext c) {
    int size = c.node().listAttr("Tstate").size();
    Tensor[] state = new Tensor[size];
    for (int i = 0; i < size; i++) {
      state[i] = Refs.retain(c.input(1 + i));
    }
    Iteration iteration = new Iteration();
    ElementFunction f = ElementFunction.of(c, "f", 1 + size, MapDatasets.captured(c)).in(iteration);
    try (DatasetElements elements = DatasetValue.at(c, 0).elements(iteration)) {
      for (Tensor[] e = elements.next(c.cancellation());
          e != null;
          e = elements.next(c.cancellation())) {
        c.cancellation().check();
        Tensor[] next;
        try {
          next = f.call(joined(state, e), c.cancellation());
        } finally {
          DatasetElements.release(e);
        }
        DatasetElements.release(state);
        state = next;
      }
    } catch (Throwable t) {
      DatasetElements.release(state);
      throw t;
    }
    Iterators.give(c, state);
  }

  private static void single(KernelContext c) {
    Tensor[] first;
    try (DatasetElements elements = DatasetValue.at(c, 0).elements(new Iteration())) {
      first = elements.next(c.cancellation());
      if (first == null) {
        throw MillraceException.invalid("Dataset was empty.");
      }
      Tensor[] second;
      try {
        second = elements.next(c.cancellation());
      } catch (Throwable t) {
        DatasetElements.release(first);
        throw t;
      }
      if (second != null) {
        DatasetElements.release(first);
        DatasetElements.release(second);
        throw MillraceException.invalid("Dataset had more than one element.");
      }
    }
    Iterators.give(c, first);
  }

  /** The function gives a new state and an element for the state before and an element. */
  private static final class Scan extends Sequences.Derived {
    private final Tensor[] initial;
    private final ElementFunction function;
    private final boolean keepsCount;

    Scan(KernelContext c) {
      super(c);
      keepsCount = c.node().booleanAttr("preserve_cardinality");
      initial = new Tensor[c.node().listAttr("Tstate").size()];
      for (int i = 0; i < initial.length; i++) {
        initial[i] = hold(c.input(1 + i));
      }
      function = ElementFunction.of(c, this, "f", 1 + initial.length, MapDatasets.captured(c));
    }

    @Override
    long cardinality() {
      return keepsCount ? input.cardinality() : UNKNOWN;
    }

    @Override
    DatasetElements elements(Iteration iteration) {
      ElementFunction own = function.in(iteration);
      return new Sequences.Through(input.elements(iteration)) {
        private Tensor[] state = Refs.retainAll(initial);

        @Override
        Tensor[] next(Cancellation c) {
          Tensor[] element = input.next(c);
          if (element == null) {
            return null;
          }
          Tensor[] results;
          try {
            results = own.call(joined(state, element), c);
          } catch (MillraceException e) {
            return MapDatasets.resultOrEnd(e, keepsCount);
          } finally {
            release(element);
          }
          if (results.length != state.length + types().size()) {
            release(results);
            throw MillraceException.invalid(
                "The function must give %d components of state and %d of an element; it gives %d.",
                state.length, types().size(), results.length);
          }
          release(state);
          state = Arrays.copyOf(results, state.length);
          return Arrays.copyOfRange(results, state.length, results.length);
        }

        @Override
        public void close() {
          release(state);
          state = new Tensor[0];
          super.close();
        }
      };
    }
  }

  private static final class TakeWhile extends Sequences.Derived {
    private final ElementFunction predicate;

    TakeWhile(KernelContext c) {
      super(c);
      predicate = ElementFunction.of(c, this, "predicate", 1, MapDatasets.captured(c));
    }

    @Override
    long cardinality() {
      return UNKNOWN;
    }

    @Override
    DatasetElements elements(Iteration iteration) {
      ElementFunction own = predicate.in(iteration);
      return new Sequences.Through(input.elements(iteration)) {
        private boolean over;

        @Override
        Tensor[] next(Cancellation c) {
          Tensor[] element = over ? null : input.next(c);
          if (element == null) {
            return null;
          }
          boolean passes = false;
          try {
            passes = own.test(element, c, "TakeWhile predicate");
            over = !passes;
          } finally {
            if (!passes) {
              release(element);
            }
          }
          return passes ? element : null;
        }
      };
    }
  }
}
