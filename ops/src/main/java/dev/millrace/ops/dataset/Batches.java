package dev.millrace.ops.dataset;

import dev.millrace.base.Cancellation;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.StridedCopy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Datasets whose elements are several of another, stacked. */
final class Batches {
  static final List<Op> ALL =
      List.of(
          DatasetValue.giving(
              DatasetValue.define("BatchDatasetV2")
                  .attr("parallel_copy: bool = false")
                  .input("input_dataset: variant")
                  .input("batch_size: int64")
                  .input("drop_remainder: bool"),
              c -> new Batch(c, DatasetValue.isTrue(c, 2))),
          DatasetValue.giving(
              DatasetValue.define("ParallelBatchDataset")
                  .attr("parallel_copy: bool = false")
                  .attr("deterministic: string = 'default'")
                  .input("input_dataset: variant")
                  .input("batch_size: int64")
                  .input("num_parallel_calls: int64")
                  .input("drop_remainder: bool"),
              c -> new Batch(c, DatasetValue.isTrue(c, 3))),
          DatasetValue.giving(
              padded("PaddedBatchDatasetV2")
                  .attr("parallel_copy: bool = false")
                  .input("drop_remainder: bool"),
              c -> new Padded(c, DatasetValue.isTrue(c, c.inputCount() - 1))));

  private Batches() {}

  private static Op.Builder padded(String name) {
    return Op.define(name)
        .attr("Toutput_types: list(type) >= 1")
        .attr("output_shapes: list(shape) >= 1")
        .attr("N: int >= 1")
        .attr("metadata: string = ''")
        .input("input_dataset: variant")
        .input("batch_size: int64")
        .input("padded_shapes: N * int64")
        .input("padding_values: Toutput_types");
  }

  /** How many batches {@code n} elements make. */
  static long cardinality(long n, long size, boolean wholeOnly) {
    return n < 0 ? n : n / size + (wholeOnly || n % size == 0 ? 0 : 1);
  }

  /** The elements of a batch; null at the end, or if there is no whole one left. */
  static List<Tensor[]> take(DatasetElements input, long size, boolean wholeOnly, Cancellation c) {
    List<Tensor[]> elements = new ArrayList<>();
    try {
      while (elements.size() < size) {
        c.check();
        Tensor[] e = input.next(c);
        if (e == null) {
          break;
        }
        elements.add(e);
      }
    } catch (Throwable t) {
      elements.forEach(DatasetElements::release);
      throw t;
    }
    if (elements.isEmpty() || (wholeOnly && elements.size() < size)) {
      elements.forEach(DatasetElements::release);
      return null;
    }
    return elements;
  }

  /** The elements stacked, all of one shape; takes them over. */
  static Tensor[] stack(List<Tensor[]> elements) {
    Tensor[] first = elements.getFirst();
    Tensor[] batch = new Tensor[first.length];
    try {
      for (int i = 0; i < batch.length; i++) {
        for (int k = 1; k < elements.size(); k++) {
          Shape s = elements.get(k)[i].shape();
          if (!s.equals(first[i].shape())) {
            throw MillraceException.invalid(
                "Cannot batch tensors with different shapes in component %d. First element had"
                    + " shape %s and element %d had shape %s.",
                i, first[i].shape(), k, s);
          }
        }
        batch[i] = DatasetRows.stack(elements, i);
      }
      return batch;
    } catch (Throwable t) {
      DatasetElements.release(batch);
      throw t;
    } finally {
      elements.forEach(DatasetElements::release);
    }
  }

  static void checkSize(long size) {
    if (size <= 0) {
      throw MillraceException.invalid("Batch size must be greater than zero.");
    }
  }

  private static final class Batch extends DatasetValue {
    private final DatasetValue input;
    private final long size;
    private final boolean wholeOnly;

    Batch(KernelContext c, boolean wholeOnly) {
      super(typesOf(c.node()), shapesOf(c.node()));
      size = number(c, 1);
      checkSize(size);
      this.wholeOnly = wholeOnly;
      input = holdInput(c, 0);
    }

    @Override
    long cardinality() {
      return Batches.cardinality(input.cardinality(), size, wholeOnly);
    }

    @Override
    DatasetElements elements(Iteration iteration) {
      return new Sequences.Through(input.elements(iteration)) {
        private boolean over;

        @Override
        Tensor[] next(Cancellation c) {
          if (over) {
            return null;
          }
          List<Tensor[]> elements = take(input, size, wholeOnly, c);
          over = elements == null;
          return over ? null : stack(elements);
        }
      };
    }
  }

  /** Elements of different shapes, made as large as the largest or as they are said to be. */
  private static final class Padded extends DatasetValue {
    private final DatasetValue input;
    private final long size;
    private final boolean wholeOnly;
    private final List<long[]> dims = new ArrayList<>();
    private final List<Tensor> padding = new ArrayList<>();

    Padded(KernelContext c, boolean wholeOnly) {
      super(c.node().typesAttr("Toutput_types"), shapesOf(c.node()));
      size = number(c, 1);
      checkSize(size);
      this.wholeOnly = wholeOnly;
      int n = c.node().intAttr("N");
      if (n != types().size()) {
        throw MillraceException.invalid(
            "Number of padded shapes (%d) must match the number of components in the input"
                + " dataset's elements (%d)",
            n, types().size());
      }
      for (int i = 0; i < n; i++) {
        Tensor shape = c.input(2 + i);
        if (shape.shape().rank() != 1) {
          throw MillraceException.invalid("All padded_shapes must be vectors");
        }
        if (!c.input(2 + n + i).shape().isScalar()) {
          throw MillraceException.invalid("All padding_values must be scalars");
        }
        dims.add(shape.toLongs());
      }
      input = holdInput(c, 0);
      for (int i = 0; i < n; i++) {
        padding.add(hold(c.input(2 + n + i)));
      }
    }

    @Override
    long cardinality() {
      return Batches.cardinality(input.cardinality(), size, wholeOnly);
    }

    @Override
    DatasetElements elements(Iteration iteration) {
      return new Sequences.Through(input.elements(iteration)) {
        private boolean over;

        @Override
        Tensor[] next(Cancellation c) {
          if (over) {
            return null;
          }
          List<Tensor[]> elements = take(input, size, wholeOnly, c);
          over = elements == null;
          return over ? null : padded(elements);
        }
      };
    }

    private Tensor[] padded(List<Tensor[]> elements) {
      Tensor[] batch = new Tensor[types().size()];
      try {
        for (int i = 0; i < batch.length; i++) {
          batch[i] = padded(elements, i);
        }
        return batch;
      } catch (Throwable t) {
        DatasetElements.release(batch);
        throw t;
      } finally {
        elements.forEach(DatasetElements::release);
      }
    }

    private Tensor padded(List<Tensor[]> elements, int i) {
      long[] all = dims.get(i).clone();
      for (Tensor[] e : elements) {
        Shape s = e[i].shape();
        if (s.rank() != all.length) {
          throw MillraceException.invalid(
              "All elements in a batch must have the same rank as the padded shape for component"
                  + "%d: expected rank %d but got element with rank %d",
              i, all.length, s.rank());
        }
        for (int d = 0; d < all.length; d++) {
          if (dims.get(i)[d] < 0) {
            all[d] = Math.max(all[d], s.dim(d));
          } else if (s.dim(d) > all[d]) {
            throw new MillraceException(
                Code.DATA_LOSS, "Attempted to pad to a smaller size than the input element.");
          }
        }
      }
      Shape shape = Shape.of(all);
      Tensor batch = Refs.allocate(types().get(i), Shape.of(elements.size()).concat(shape));
      fill(batch, padding.get(i));
      long[] strides = StridedCopy.rowMajor(all);
      for (int k = 0; k < elements.size(); k++) {
        Tensor e = elements.get(k)[i];
        long at = k * shape.elements();
        if (e.shape().equals(shape)) {
          StridedCopy.copyRun(e, 0, batch, at, e.elements());
        } else if (e.elements() > 0) {
          long[] own = e.shape().dims();
          StridedCopy.copy(own, e, 0, StridedCopy.rowMajor(own), batch, at, strides);
        }
      }
      return batch;
    }

    private static void fill(Tensor all, Tensor value) {
      if (!all.dtype().isPlain()) {
        Arrays.fill(all.objects(), value.objects()[0]);
        return;
      }
      for (long i = 0; i < all.elements(); i++) {
        StridedCopy.copyRun(value, 0, all, i, 1);
      }
    }
  }
}
