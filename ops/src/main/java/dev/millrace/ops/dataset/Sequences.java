package dev.millrace.ops.dataset;

import dev.millrace.base.Cancellation;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Datasets that have the elements of others, but not all, or more than once, or side by side. */
final class Sequences {
  static final List<Op> ALL =
      List.of(
          DatasetValue.giving(
              DatasetValue.define("RepeatDataset")
                  .input("input_dataset: variant")
                  .input("count: int64"),
              Repeat::new),
          DatasetValue.giving(
              DatasetValue.define("TakeDataset")
                  .input("input_dataset: variant")
                  .input("count: int64"),
              Take::new),
          DatasetValue.giving(
              DatasetValue.define("SkipDataset")
                  .input("input_dataset: variant")
                  .input("count: int64"),
              Skip::new),
          DatasetValue.giving(
              DatasetValue.define("ShardDataset")
                  .attr("require_non_empty: bool = false")
                  .input("input_dataset: variant")
                  .input("num_shards: int64")
                  .input("index: int64"),
              Shard::new),
          DatasetValue.giving(
              DatasetValue.define("ConcatenateDataset")
                  .input("input_dataset: variant")
                  .input("another_dataset: variant"),
              Concatenate::new),
          DatasetValue.giving(
              DatasetValue.define("ZipDataset")
                  .attr("N: int >= 1")
                  .input("input_datasets: N * variant"),
              Zip::new),
          DatasetValue.giving(
              Op.define("IgnoreErrorsDataset")
                  .attr("output_types: list(type) >= 1")
                  .attr("output_shapes: list(shape) >= 1")
                  .attr("log_warning: bool = false")
                  .input("input_dataset: variant"),
              WithoutFailures::new));

  private Sequences() {}

  /** A dataset of the elements of one other, of the types that attributes say. */
  abstract static class Derived extends DatasetValue {
    final DatasetValue input;

    Derived(KernelContext c) {
      super(typesOf(c.node()), shapesOf(c.node()));
      input = holdInput(c, 0);
    }
  }

  /** A walk that goes by one through another dataset. */
  abstract static class Through extends DatasetElements {
    final DatasetElements input;

    Through(DatasetElements input) {
      this.input = input;
    }

    @Override
    public void close() {
      input.close();
    }
  }

  private static final class Repeat extends Derived {
    private final long count;

    Repeat(KernelContext c) {
      count = number(c, 1);
      super(c);
    }

    @Override
    long cardinality() {
      long n = input.cardinality();
      if (n == 0 || count == 0) {
        return 0;
      }
      if (count < 0) {
        return n == UNKNOWN ? UNKNOWN : INFINITE;
      }
      return n < 0 ? n : Math.multiplyExact(n, count);
    }

    @Override
    DatasetElements elements(Iteration iteration) {
      return new DatasetElements() {
        private DatasetElements current;
        private long rounds;
        private boolean any;

        @Override
        Tensor[] next(Cancellation c) {
          while (count < 0 || rounds < count) {
            c.check();
            if (current == null) {
              current = input.elements(iteration);
              any = false;
            }
            Tensor[] element = current.next(c);
            if (element != null) {
              any = true;
              return element;
            }
            if (count < 0 && !any) {
              return null;
            }
            rounds++;
            close();
          }
          return null;
        }

        @Override
        boolean isReady() {
          return current != null && current.isReady();
        }

        @Override
        public void close() {
          if (current != null) {
            current.close();
            current = null;
          }
        }
      };
    }
  }

  /** The elements that could be made. */
  private static final class WithoutFailures extends Derived {
    WithoutFailures(KernelContext c) {
      super(c);
    }

    @Override
    long cardinality() {
      return UNKNOWN;
    }

    @Override
    DatasetElements elements(Iteration iteration) {
      return new Through(input.elements(iteration)) {
        @Override
        Tensor[] next(Cancellation c) {
          while (true) {
            c.check();
            try {
              return input.next(c);
            } catch (MillraceException e) {
              // The next one may be better.
            }
          }
        }
      };
    }
  }

  private static final class Take extends Derived {
    private final long count;

    Take(KernelContext c) {
      count = number(c, 1);
      super(c);
    }

    @Override
    long cardinality() {
      long n = input.cardinality();
      return count < 0 ? n : n == INFINITE ? count : n == UNKNOWN ? n : Math.min(n, count);
    }

    @Override
    DatasetElements elements(Iteration iteration) {
      return new Through(input.elements(iteration)) {
        private long taken;

        @Override
        Tensor[] next(Cancellation c) {
          if (count >= 0 && taken >= count) {
            return null;
          }
          Tensor[] element = input.next(c);
          taken = element == null ? Math.max(taken, count) : taken + 1;
          return element;
        }

        @Override
        boolean isReady() {
          return input.isReady();
        }
      };
    }
  }

  private static final class Skip extends Derived {
    private final long count;

    Skip(KernelContext c) {
      count = number(c, 1);
      super(c);
    }

    @Override
    long cardinality() {
      long n = input.cardinality();
      return count < 0 ? 0 : n < 0 ? n : Math.max(0, n - count);
    }

    @Override
    DatasetElements elements(Iteration iteration) {
      return new Through(input.elements(iteration)) {
        private long skipped;

        @Override
        Tensor[] next(Cancellation c) {
          if (count < 0) {
            return null;
          }
          for (; skipped < count; skipped++) {
            c.check();
            Tensor[] element = input.next(c);
            if (element == null) {
              return null;
            }
            release(element);
          }
          return input.next(c);
        }
      };
    }
  }

  private static final class Shard extends DatasetValue {
    private final DatasetValue input;
    private final long shards;
    private final long index;
    private final boolean needsAny;

    Shard(KernelContext c) {
      super(typesOf(c.node()), shapesOf(c.node()));
      shards = number(c, 1);
      index = number(c, 2);
      needsAny = c.node().booleanAttr("require_non_empty");
      if (shards <= 0) {
        throw MillraceException.invalid(
            "Number of shards must be greater than zero (currently num_shards = %d).", shards);
      }
      if (index < 0 || index >= shards) {
        throw MillraceException.invalid(
            "Index must be between 0 and %d (currently index = %d).", shards - 1, index);
      }
      input = holdInput(c, 0);
    }

    @Override
    long cardinality() {
      long n = input.cardinality();
      return n < 0 ? n : n / shards + (index < n % shards ? 1 : 0);
    }

    @Override
    DatasetElements elements(Iteration iteration) {
      return new Through(input.elements(iteration)) {
        private long at;

        @Override
        Tensor[] next(Cancellation c) {
          while (true) {
            c.check();
            Tensor[] element = input.next(c);
            if (element == null) {
              if (needsAny && at > 0 && at < shards) {
                throw MillraceException.invalid(
                    "There aren't enough elements in this dataset for each shard to have at least"
                        + " one element (# elems = %d, # shards = %d). If you are using datasets"
                        + " with distribution strategy, consider setting the auto sharding policy"
                        + " to either DATA or OFF using the"
                        + " `experimental_distribute.auto_shard_policy` option of"
                        + " `tf.data.Options()`.",
                    at, shards);
              }
              return null;
            }
            if (at++ % shards == index) {
              return element;
            }
            release(element);
          }
        }
      };
    }
  }

  private static final class Concatenate extends DatasetValue {
    private final DatasetValue first;
    private final DatasetValue second;

    Concatenate(KernelContext c) {
      super(typesOf(c.node()), shapesOf(c.node()));
      DatasetValue one = at(c, 0);
      DatasetValue other = at(c, 1);
      if (!one.types().equals(other.types())) {
        throw MillraceException.invalid(
            "input dataset and another dataset have different output_types %s and %s",
            one.types(), other.types());
      }
      first = holdInput(c, 0);
      second = holdInput(c, 1);
    }

    @Override
    long cardinality() {
      long a = first.cardinality();
      long b = second.cardinality();
      return a == INFINITE || b == INFINITE
          ? INFINITE
          : a == UNKNOWN || b == UNKNOWN ? UNKNOWN : a + b;
    }

    @Override
    DatasetElements elements(Iteration iteration) {
      return new DatasetElements() {
        private DatasetElements current = first.elements(iteration);
        private boolean inSecond;

        @Override
        Tensor[] next(Cancellation c) {
          if (current == null) {
            return null;
          }
          Tensor[] element = current.next(c);
          if (element == null && !inSecond) {
            current.close();
            current = null;
            current = second.elements(iteration);
            inSecond = true;
            element = current.next(c);
          }
          return element;
        }

        @Override
        public void close() {
          if (current != null) {
            current.close();
            current = null;
          }
        }
      };
    }
  }

  private static final class Zip extends DatasetValue {
    private final List<DatasetValue> inputs = new ArrayList<>();

    Zip(KernelContext c) {
      super(typesOf(c.node()), shapesOf(c.node()));
      for (int i = 0; i < c.inputCount(); i++) {
        at(c, i);
      }
      for (int i = 0; i < c.inputCount(); i++) {
        inputs.add(holdInput(c, i));
      }
    }

    @Override
    long cardinality() {
      long result = INFINITE;
      for (DatasetValue d : inputs) {
        long n = d.cardinality();
        if (n == UNKNOWN) {
          return UNKNOWN;
        }
        result = n == INFINITE ? result : result == INFINITE ? n : Math.min(result, n);
      }
      return result;
    }

    @Override
    DatasetElements elements(Iteration iteration) {
      List<DatasetElements> all = inputs.stream().map(d -> d.elements(iteration)).toList();
      return new DatasetElements() {
        private boolean over;

        @Override
        Tensor[] next(Cancellation c) {
          if (over) {
            return null;
          }
          List<Tensor> components = new ArrayList<>();
          MillraceException failure = null;
          for (DatasetElements e : all) {
            Tensor[] part = null;
            try {
              part = e.next(c);
              over |= part == null;
            } catch (MillraceException x) {
              // The others go on, so that the elements stay side by side.
              failure = failure == null ? x : failure;
            }
            if (over) {
              break;
            }
            components.addAll(part == null ? List.of() : Arrays.asList(part));
          }
          if (over || failure != null) {
            components.forEach(Refs::release);
            if (failure != null && !over) {
              throw failure;
            }
            return null;
          }
          return components.toArray(new Tensor[0]);
        }

        @Override
        public void close() {
          all.forEach(DatasetElements::close);
        }
      };
    }
  }
}
