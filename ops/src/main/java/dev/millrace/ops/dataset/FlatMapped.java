package dev.millrace.ops.dataset;

import dev.millrace.base.Cancellation;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Tensor;
import java.util.List;

/** Datasets of the elements of datasets that a function makes of the elements of another. */
final class FlatMapped {
  static final List<Op> ALL =
      List.of(
          DatasetValue.giving(
              MapDatasets.calling("FlatMapDataset", "f"), c -> new Interleave(c, 1, 1)),
          DatasetValue.giving(
              MapDatasets.calling("InterleaveDataset", "f")
                  .input("cycle_length: int64")
                  .input("block_length: int64"),
              FlatMapped::interleave),
          DatasetValue.giving(
              MapDatasets.calling("LegacyParallelInterleaveDatasetV2", "f")
                  .attr("deterministic: string = 'default'")
                  .input("cycle_length: int64")
                  .input("block_length: int64")
                  .input("buffer_output_elements: int64")
                  .input("prefetch_input_elements: int64"),
              FlatMapped::interleave),
          DatasetValue.giving(
              MapDatasets.calling("ParallelInterleaveDatasetV2", "f")
                  .attr("sloppy: bool = false")
                  .input("cycle_length: int64")
                  .input("block_length: int64")
                  .input("num_parallel_calls: int64"),
              FlatMapped::interleave),
          DatasetValue.giving(
              MapDatasets.calling("ParallelInterleaveDatasetV3", "f")
                  .attr("deterministic: string = 'default'")
                  .input("cycle_length: int64")
                  .input("block_length: int64")
                  .input("num_parallel_calls: int64"),
              FlatMapped::interleave),
          DatasetValue.giving(
              MapDatasets.calling("ParallelInterleaveDatasetV4", "f")
                  .attr("deterministic: string = 'default'")
                  .input("cycle_length: int64")
                  .input("block_length: int64")
                  .input("buffer_output_elements: int64")
                  .input("prefetch_input_elements: int64")
                  .input("num_parallel_calls: int64"),
              FlatMapped::interleave));

  private FlatMapped() {}

  private static DatasetValue interleave(KernelContext c) {
    int first = 1 + MapDatasets.captured(c);
    long cycle = DatasetValue.number(c, first);
    long block = DatasetValue.number(c, first + 1);
    if (cycle == -1) {
      cycle = Runtime.getRuntime().availableProcessors();
    }
    if (cycle <= 0) {
      throw MillraceException.invalid("`cycle_length` must be > 0");
    }
    if (block <= 0) {
      throw MillraceException.invalid("`block_length` must be > 0");
    }
    if (c.node().op().inputs().getLast().name().equals("num_parallel_calls")) {
      MapDatasets.parallelCalls(c, c.inputCount() - 1);
    }
    return new Interleave(c, Math.toIntExact(Math.min(cycle, 1 << 20)), block);
  }

  /**
   * Takes {@code block} elements from each of {@code cycle} datasets in turn; where one has ended,
   * the next takes its place. With a cycle of one, the datasets come one after the other.
   */
  private static final class Interleave extends DatasetValue {
    private final DatasetValue input;
    private final ElementFunction function;
    private final int cycle;
    private final long block;

    Interleave(KernelContext c, int cycle, long block) {
      super(typesOf(c.node()), shapesOf(c.node()));
      this.cycle = cycle;
      this.block = block;
      input = holdInput(c, 0);
      function = ElementFunction.of(c, this, "f", 1, MapDatasets.captured(c));
    }

    @Override
    long cardinality() {
      return input.cardinality() == 0 ? 0 : UNKNOWN;
    }

    @Override
    DatasetElements elements(Iteration iteration) {
      return new Interleaved(
          input.elements(iteration), function.in(iteration), iteration, cycle, block);
    }
  }

  /** A dataset that a function has made, and a walk through it. */
  private record Open(Tensor dataset, DatasetElements elements) implements AutoCloseable {
    @Override
    public void close() {
      try {
        elements.close();
      } finally {
        Refs.release(dataset);
      }
    }
  }

  private static final class Interleaved extends Sequences.Through {
    private final ElementFunction function;
    private final Iteration iteration;
    private final long block;
    private final Open[] open;
    private int opened;
    private int at;
    private long taken;
    private boolean over;

    Interleaved(
        DatasetElements input,
        ElementFunction function,
        Iteration iteration,
        int cycle,
        long block) {
      super(input);
      this.function = function;
      this.iteration = iteration;
      this.block = block;
      this.open = new Open[cycle];
    }

    @Override
    Tensor[] next(Cancellation c) {
      while (!over || opened > 0) {
        c.check();
        if (open[at] != null) {
          Tensor[] element = open[at].elements.next(c);
          if (element != null) {
            if (++taken == block) {
              goOn();
            }
            return element;
          }
          Open ended = open[at];
          open[at] = null;
          opened--;
          goOn();
          ended.close();
        } else if (!over) {
          Tensor[] element = input.next(c);
          over = element == null;
          if (!over) {
            open[at] = open(function.apply(element, c));
            opened++;
          }
        } else {
          goOn();
        }
      }
      return null;
    }

    private void goOn() {
      at = (at + 1) % open.length;
      taken = 0;
    }

    private Open open(Tensor[] results) {
      try {
        if (results.length != 1) {
          throw MillraceException.invalid("Function must return a single dataset.");
        }
        return new Open(results[0], DatasetValue.of(results[0]).elements(iteration));
      } catch (Throwable t) {
        release(results);
        throw t;
      }
    }

    @Override
    public void close() {
      for (int i = 0; i < open.length; i++) {
        if (open[i] != null) {
          open[i].close();
          open[i] = null;
        }
      }
      opened = 0;
      super.close();
    }
  }
}
