package dev.millrace.ops.dataset;

import dev.millrace.base.Cancellation;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;

/** Datasets of datasets of several elements, and of the rows of elements. */
final class Windows {
  static final List<Op> ALL =
      List.of(
          DatasetValue.giving(
              DatasetValue.define("WindowDataset")
                  .input("input_dataset: variant")
                  .input("size: int64")
                  .input("shift: int64")
                  .input("stride: int64")
                  .input("drop_remainder: bool"),
              Window::new),
          DatasetValue.giving(
              DatasetValue.define("UnbatchDataset").input("input_dataset: variant"), Unbatch::new));

  private Windows() {}

  /** Some values, one to an element. */
  private static final class Values extends DatasetValue {
    private final List<Tensor> values;

    Values(DType type, Shape shape, List<Tensor> values) {
      super(List.of(type), List.of(shape));
      this.values = values;
      values.forEach(this::hold);
    }

    @Override
    long cardinality() {
      return values.size();
    }

    @Override
    DatasetElements elements(Iteration iteration) {
      return new DatasetElements() {
        private int at;

        @Override
        Tensor[] next(Cancellation c) {
          return at < values.size() ? new Tensor[] {Refs.retain(values.get(at++))} : null;
        }
      };
    }
  }

  private static final class Window extends DatasetValue {
    private final DatasetValue input;
    private final int size;
    private final long shift;
    private final int stride;
    private final boolean wholeOnly;

    Window(KernelContext c) {
      size = (int) Math.min(positive(c, 1, "size"), Integer.MAX_VALUE);
      shift = positive(c, 2, "shift");
      stride = (int) Math.min(positive(c, 3, "stride"), Integer.MAX_VALUE);
      wholeOnly = isTrue(c, 4);
      super(typesOf(c.node()), shapesOf(c.node()));
      input = holdInput(c, 0);
    }

    private static long positive(KernelContext c, int i, String what) {
      long n = number(c, i);
      if (n <= 0) {
        throw MillraceException.invalid("Window %s must be greater than zero.", what);
      }
      return n;
    }

    /** How many elements of the input a whole window spans. */
    private long span() {
      return (size - 1L) * stride + 1;
    }

    @Override
    long cardinality() {
      long n = input.cardinality();
      if (n < 0) {
        return n;
      }
      return wholeOnly
          ? n < span() ? 0 : (n - span()) / shift + 1
          : n / shift + (n % shift == 0 ? 0 : 1);
    }

    @Override
    DatasetElements elements(Iteration iteration) {
      return new Sequences.Through(input.elements(iteration)) {
        // Elements, and failures in their places.
        private final List<Object> buffer = new ArrayList<>();

        private boolean over;

        @Override
        Tensor[] next(Cancellation c) {
          while (!over && buffer.size() < span()) {
            c.check();
            Object element = nextOrFailure(c);
            over = element == null;
            if (!over) {
              buffer.add(element);
            }
          }
          if (buffer.isEmpty() || (wholeOnly && buffer.size() < span())) {
            return null;
          }
          List<Tensor[]> elements = new ArrayList<>();
          MillraceException failure = null;
          for (long k = 0; k < size && k * stride < buffer.size(); k++) {
            switch (buffer.get((int) (k * stride))) {
              case MillraceException e -> failure = failure == null ? e : failure;
              case Object element -> elements.add((Tensor[]) element);
            }
          }
          Tensor[] window = failure == null ? window(elements) : new Tensor[0];
          try {
            move(c);
          } catch (Throwable t) {
            release(window);
            throw t;
          }
          if (failure != null) {
            throw failure;
          }
          return window;
        }

        private Object nextOrFailure(Cancellation c) {
          try {
            return input.next(c);
          } catch (MillraceException e) {
            c.check();
            return e;
          }
        }

        private Tensor[] window(List<Tensor[]> elements) {
          Tensor[] window = new Tensor[types().size()];
          for (int i = 0; i < window.length; i++) {
            int component = i;
            List<Tensor> values = elements.stream().map(e -> e[component]).toList();
            DType type = Window.this.input.types().get(i);
            window[i] = new Values(type, Window.this.input.shapes().get(i), values).tensor();
          }
          return window;
        }

        private void move(Cancellation c) {
          for (long k = buffer.size(); k < shift && !over; k++) {
            c.check();
            Object passed = nextOrFailure(c);
            over = passed == null;
            drop(passed);
          }
          List<Object> gone = buffer.subList(0, (int) Math.min(shift, buffer.size()));
          gone.forEach(this::drop);
          gone.clear();
        }

        private void drop(Object element) {
          if (element instanceof Tensor[] tensors) {
            release(tensors);
          }
        }

        @Override
        public void close() {
          buffer.forEach(this::drop);
          buffer.clear();
          super.close();
        }
      };
    }
  }

  private static final class Unbatch extends Sequences.Derived {
    Unbatch(KernelContext c) {
      super(c);
    }

    @Override
    long cardinality() {
      long n = input.cardinality();
      if (n == 0) {
        return 0;
      }
      for (Shape s : input.shapes()) {
        if (n > 0 && s.hasRank() && s.rank() > 0 && s.dim(0) >= 0) {
          return n * s.dim(0);
        }
      }
      return n == INFINITE ? n : UNKNOWN;
    }

    @Override
    DatasetElements elements(Iteration iteration) {
      return new Sequences.Through(input.elements(iteration)) {
        private Tensor[] batch;
        private long at;

        @Override
        Tensor[] next(Cancellation c) {
          while (batch == null || at >= batch[0].shape().dim(0)) {
            c.check();
            drop();
            Tensor[] more = input.next(c);
            if (more == null) {
              return null;
            }
            batch = more;
            at = 0;
            check();
          }
          Tensor[] element = new Tensor[batch.length];
          for (int i = 0; i < element.length; i++) {
            element[i] = DatasetRows.row(batch[i], at);
          }
          at++;
          return element;
        }

        private void check() {
          for (int i = 0; i < batch.length; i++) {
            Shape s = batch[i].shape();
            MillraceException wrong = null;
            if (s.rank() == 0) {
              wrong =
                  MillraceException.invalid(
                      "Input element must have a non-scalar value in each component.");
            } else if (s.dim(0) != batch[0].shape().dim(0)) {
              wrong =
                  MillraceException.invalid(
                      "Input element must have the same batch size in each component. Component 0"
                          + " had size %d but component %d had size, %d.",
                      batch[0].shape().dim(0), i, s.dim(0));
            }
            if (wrong != null) {
              drop();
              throw wrong;
            }
          }
        }

        private void drop() {
          if (batch != null) {
            release(batch);
            batch = null;
          }
        }

        @Override
        public void close() {
          drop();
          super.close();
        }
      };
    }
  }
}
