package dev.millrace.ops.dataset;

import dev.millrace.base.Cancellation;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;

/** Datasets of what is in memory. */
final class Sources {
  static final Op TENSORS =
      DatasetValue.giving(
          Op.define("TensorDataset")
              .attr("Toutput_types: list(type) >= 1")
              .attr("output_shapes: list(shape) >= 1")
              .attr("metadata: string = ''")
              .input("components: Toutput_types")
              .stateful(),
          c -> new Components(c, false));

  static final Op SLICES =
      DatasetValue.giving(
          Op.define("TensorSliceDataset")
              .attr("Toutput_types: list(type) >= 1")
              .attr("output_shapes: list(shape) >= 1")
              .attr("is_files: bool = false")
              .attr("metadata: string = ''")
              .attr("replicate_on_split: bool = false")
              .input("components: Toutput_types")
              .stateful(),
          c -> {
            long n = -1;
            for (int i = 0; i < c.inputCount(); i++) {
              Shape s = c.input(i).shape();
              if (s.rank() == 0) {
                throw MillraceException.invalid(
                    "All components must have rank 1 or more; component %d is a scalar.", i);
              }
              if (n >= 0 && s.dim(0) != n) {
                throw MillraceException.invalid(
                    "All components must have the same size in the 0th dimension");
              }
              n = s.dim(0);
            }
            return new Components(c, true);
          });

  static final Op RANGE =
      DatasetValue.giving(
          DatasetValue.define("RangeDataset")
              .attr("replicate_on_split: bool = false")
              .input("start: int64")
              .input("stop: int64")
              .input("step: int64")
              .stateful(),
          Range::new);

  static final List<Op> ALL = List.of(TENSORS, SLICES, RANGE);

  private Sources() {}

  /** One element of these tensors, or one for each of their rows. */
  private static final class Components extends DatasetValue {
    private final Tensor[] components;
    private final boolean byRow;

    Components(KernelContext c, boolean byRow) {
      super(c.node().typesAttr("Toutput_types"), c.node().shapesAttr("output_shapes"));
      this.byRow = byRow;
      components = new Tensor[c.inputCount()];
      for (int i = 0; i < components.length; i++) {
        components[i] = hold(c.input(i));
      }
    }

    @Override
    long cardinality() {
      return byRow ? components[0].shape().dim(0) : 1;
    }

    @Override
    DatasetElements elements(Iteration iteration) {
      return new DatasetElements() {
        private final long size = cardinality();
        private long at;

        @Override
        Tensor[] next(Cancellation c) {
          if (at >= size) {
            return null;
          }
          Tensor[] element = new Tensor[components.length];
          for (int i = 0; i < element.length; i++) {
            element[i] = byRow ? DatasetRows.row(components[i], at) : Refs.retain(components[i]);
          }
          at++;
          return element;
        }

        @Override
        boolean isReady() {
          return true;
        }
      };
    }
  }

  /** Whole numbers at equal distances. */
  private static final class Range extends DatasetValue {
    private final long start;
    private final long stop;
    private final long step;
    private final DType type;

    Range(KernelContext c) {
      super(typesOf(c.node()), shapesOf(c.node()));
      start = number(c, 0);
      stop = number(c, 1);
      step = number(c, 2);
      type = types().getFirst();
      if (step == 0) {
        throw MillraceException.invalid("step must be a non-zero integer.");
      }
    }

    @Override
    long cardinality() {
      if (step > 0 ? start >= stop : start <= stop) {
        return 0;
      }
      long distance = step > 0 ? stop - start : start - stop;
      long width = step == Long.MIN_VALUE ? Long.MAX_VALUE : Math.abs(step);
      return Long.divideUnsigned(distance - 1, width) + 1;
    }

    @Override
    DatasetElements elements(Iteration iteration) {
      return new DatasetElements() {
        private final long size = cardinality();
        private long at;

        @Override
        Tensor[] next(Cancellation c) {
          if (at >= size) {
            return null;
          }
          Tensor t = Refs.allocate(type, Shape.scalar());
          t.setLong(0, start + at++ * step);
          return new Tensor[] {t};
        }

        @Override
        boolean isReady() {
          return true;
        }
      };
    }
  }
}
