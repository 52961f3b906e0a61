package dev.millrace.ops.dataset;

import dev.millrace.base.Cancellation;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.tensor.Tensor;
import java.util.ArrayDeque;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** Datasets whose elements a function makes of those of another. */
final class MapDatasets {
  static final List<Op> ALL =
      List.of(
          DatasetValue.giving(
              calling("MapDataset", "f")
                  .attr("use_inter_op_parallelism: bool = true")
                  .attr("preserve_cardinality: bool = false")
                  .attr("force_synchronous: bool = false"),
              c -> new Map(c, 0)),
          DatasetValue.giving(
              calling("ParallelMapDataset", "f")
                  .attr("use_inter_op_parallelism: bool = true")
                  .attr("sloppy: bool = false")
                  .attr("preserve_cardinality: bool = false")
                  .input("num_parallel_calls: int32"),
              c -> new Map(c, parallelCalls(c, c.inputCount() - 1))),
          DatasetValue.giving(
              calling("ParallelMapDatasetV2", "f")
                  .attr("use_inter_op_parallelism: bool = true")
                  .attr("deterministic: string = 'default'")
                  .attr("preserve_cardinality: bool = false")
                  .attr("use_unbounded_threadpool: bool = false")
                  .input("num_parallel_calls: int64"),
              c -> new Map(c, parallelCalls(c, c.inputCount() - 1))),
          DatasetValue.giving(
              calling("MapAndBatchDataset", "f")
                  .attr("preserve_cardinality: bool = false")
                  .input("batch_size: int64")
                  .input("num_parallel_calls: int64")
                  .input("drop_remainder: bool"),
              MapAndBatch::new),
          DatasetValue.giving(calling("FilterDataset", "predicate"), Filter::new));

  private MapDatasets() {}

  /** An op that has a function as an attribute, and what that uses besides elements as inputs. */
  static Op.Builder calling(String name, String function) {
    return DatasetValue.define(name)
        .attr(function + ": func")
        .attr("Targuments: list(type) >= 0")
        .input("input_dataset: variant")
        .input("other_arguments: Targuments");
  }

  /** How many inputs the function uses besides elements; they follow the dataset. */
  static int captured(KernelContext c) {
    return c.node().listAttr("Targuments").size();
  }

  /** How many calls input {@code i} allows at one time. */
  static int parallelCalls(KernelContext c, int i) {
    long n = DatasetValue.number(c, i);
    if (n == -1) {
      return Runtime.getRuntime().availableProcessors();
    }
    if (n <= 0) {
      throw MillraceException.invalid("num_parallel_calls must be greater than zero.");
    }
    return (int) Math.min(n, 1 << 10);
  }

  /** The results of a function for elements of {@code input}, {@code parallel} at one time. */
  static DatasetElements map(
      DatasetElements input, ElementFunction f, int parallel, boolean keepsCount) {
    return parallel == 0 ? new OneByOne(input, f, keepsCount) : new Side(input, f, parallel);
  }

  private static final class Map extends DatasetValue {
    private final DatasetValue input;
    private final ElementFunction function;
    private final int parallel;
    private final boolean keepsCount;

    Map(KernelContext c, int parallel) {
      super(typesOf(c.node()), shapesOf(c.node()));
      this.parallel = parallel;
      keepsCount = c.node().booleanAttr("preserve_cardinality");
      input = holdInput(c, 0);
      function = ElementFunction.of(c, this, "f", 1, captured(c));
    }

    @Override
    long cardinality() {
      return keepsCount ? input.cardinality() : UNKNOWN;
    }

    @Override
    DatasetElements elements(Iteration iteration) {
      return map(input.elements(iteration), function.in(iteration), parallel, keepsCount);
    }
  }

  private static final class MapAndBatch extends DatasetValue {
    private final DatasetValue input;
    private final ElementFunction function;
    private final long size;
    private final int parallel;
    private final boolean wholeOnly;
    private final boolean keepsCount;

    MapAndBatch(KernelContext c) {
      super(typesOf(c.node()), shapesOf(c.node()));
      int last = c.inputCount() - 1;
      size = number(c, last - 2);
      parallel = parallelCalls(c, last - 1);
      wholeOnly = isTrue(c, last);
      if (size <= 0) {
        throw MillraceException.invalid("batch_size must be greater than zero.");
      }
      keepsCount = c.node().booleanAttr("preserve_cardinality");
      input = holdInput(c, 0);
      function = ElementFunction.of(c, this, "f", 1, captured(c));
    }

    @Override
    long cardinality() {
      return keepsCount ? Batches.cardinality(input.cardinality(), size, wholeOnly) : UNKNOWN;
    }

    @Override
    DatasetElements elements(Iteration iteration) {
      DatasetElements mapped =
          map(input.elements(iteration), function.in(iteration), parallel, keepsCount);
      return new Sequences.Through(mapped) {
        private boolean over;

        @Override
        Tensor[] next(Cancellation c) {
          List<Tensor[]> elements = over ? null : Batches.take(input, size, wholeOnly, c);
          over = elements == null;
          return over ? null : Batches.stack(elements);
        }
      };
    }
  }

  private static final class Filter extends DatasetValue {
    private final DatasetValue input;
    private final ElementFunction predicate;

    Filter(KernelContext c) {
      super(typesOf(c.node()), shapesOf(c.node()));
      input = holdInput(c, 0);
      predicate = ElementFunction.of(c, this, "predicate", 1, captured(c));
    }

    @Override
    long cardinality() {
      return input.cardinality() == 0 ? 0 : UNKNOWN;
    }

    @Override
    DatasetElements elements(Iteration iteration) {
      ElementFunction own = predicate.in(iteration);
      return new Sequences.Through(input.elements(iteration)) {
        @Override
        Tensor[] next(Cancellation c) {
          while (true) {
            c.check();
            Tensor[] element = input.next(c);
            if (element == null) {
              return null;
            }
            boolean passes = false;
            try {
              passes = own.test(element, c, "Filter predicate `f`");
            } finally {
              if (!passes) {
                release(element);
              }
            }
            if (passes) {
              return element;
            }
          }
        }
      };
    }
  }

  /** A function that says "out of range" ends the elements, unless as many are to come. */
  static Tensor[] resultOrEnd(MillraceException e, boolean keepsCount) {
    if (!ElementFunction.isEnd(e)) {
      throw e;
    }
    if (keepsCount) {
      throw new MillraceException(
          Code.INVALID_ARGUMENT, "Function invocation produced OutOfRangeError: " + e.getMessage());
    }
    return null;
  }

  /** Calls the function when an element is wanted. */
  private static final class OneByOne extends Sequences.Through {
    private final ElementFunction function;
    private final boolean keepsCount;

    OneByOne(DatasetElements input, ElementFunction function, boolean keepsCount) {
      super(input);
      this.function = function;
      this.keepsCount = keepsCount;
    }

    @Override
    Tensor[] next(Cancellation c) {
      Tensor[] element = input.next(c);
      if (element == null) {
        return null;
      }
      try {
        return function.apply(element, c);
      } catch (MillraceException e) {
        return resultOrEnd(e, keepsCount);
      }
    }
  }

  /** Calls the function for some elements at one time; results come in the order of elements. */
  private static final class Side extends Sequences.Through {
    private final ElementFunction function;
    private final int parallel;
    private final ArrayDeque<CompletableFuture<Tensor[]>> calls = new ArrayDeque<>();

    /** The calls outlive the step that has them made. */
    private final Cancellation closing = new Cancellation();

    private boolean over;

    Side(DatasetElements input, ElementFunction function, int parallel) {
      super(input);
      this.function = function;
      this.parallel = parallel;
    }

    @Override
    Tensor[] next(Cancellation c) {
      while (!over && calls.size() < parallel) {
        c.check();
        try {
          Tensor[] element = input.next(c);
          over = element == null;
          if (!over) {
            calls.add(DataThreads.start(() -> function.apply(element, closing)));
          }
        } catch (MillraceException e) {
          if (c.isCancelled()) {
            throw e;
          }
          calls.add(CompletableFuture.failedFuture(e));
          break;
        }
      }
      if (calls.isEmpty()) {
        return null;
      }
      try {
        Tensor[] result = DataThreads.await(calls.peek(), c);
        calls.poll();
        return result;
      } catch (MillraceException e) {
        if (calls.peek().isDone()) {
          calls.poll();
        }
        return resultOrEnd(e, false);
      }
    }

    @Override
    public void close() {
      closing.cancel(new MillraceException(Code.CANCELLED, "The iterator has been closed."));
      for (CompletableFuture<Tensor[]> call : calls) {
        Tensor[] result = call.exceptionally(t -> new Tensor[0]).join();
        release(result);
      }
      calls.clear();
      super.close();
    }
  }
}
