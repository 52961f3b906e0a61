package dev.millrace.ops.array;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.GradientContext;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.OrderedBits;
import dev.millrace.tensor.math.Parallel;
import dev.millrace.tensor.math.StridedCopy;
import java.util.List;

/** The k largest elements of each row and where they stand; of equals the first comes first. */
public final class TopK {
  public static final Op OP =
      Op.define("TopKV2")
          .attr("sorted: bool = true")
          .attr("T: realnumbertype")
          .attr("Tk: {int16, int32, int64} = int32")
          .attr("index_type: {int16, int32, int64} = int32")
          .input("input: T")
          .input("k: Tk")
          .output("values: T")
          .output("indices: index_type")
          .shape(
              c -> {
                Tensor k = c.constant(1);
                return shapes(c.input(0), k == null ? Shape.UNKNOWN : Axis.single(k, "k"));
              })
          .kernel(c -> compute(c, Axis.single(c.input(1), "k")))
          .gradient(TopK::gradient)
          .build();

  private TopK() {}

  /** Output 0 holds the values, output 1 the indices. */
  public static Node of(Scope scope, Output input, int k) {
    return scope.add(OP, input, Const.of(scope, k));
  }

  private static List<Shape> shapes(Shape in, long k) {
    if (!in.hasRank()) {
      return List.of(in, in);
    }
    check(in, k);
    Shape s = in.withDim(-1, k);
    return List.of(s, s);
  }

  private static void check(Shape in, long k) {
    if (in.rank() < 1) {
      throw MillraceException.invalid("input must be >= 1-D, got shape %s", in);
    }
    if (k < -1 || (in.dim(-1) >= 0 && in.dim(-1) < k)) {
      throw MillraceException.invalid(
          "input must have at least k columns and k be >= 0. Had %d, needed %d", in.dim(-1), k);
    }
  }

  private static void compute(KernelContext c, long k) {
    Tensor x = c.input(0);
    check(x.shape(), k);
    if (k < 0) {
      throw MillraceException.invalid("Need k >= 0, got %d", k);
    }
    Shape s = x.shape().withDim(-1, k);
    Tensor values = c.allocate(0, s);
    Tensor indices = c.allocate(1, s);
    if (s.elements() == 0) {
      return;
    }
    long n = x.shape().dim(-1);
    Parallel.run(
        x.elements() / n,
        1 + (1 << 14) / n,
        (from, to) -> {
          Best best = new Best((int) k);
          for (long row = from; row < to; row++) {
            long start = row * n;
            best.clear();
            for (int i = 0; i < n; i++) {
              best.offer(OrderedBits.at(x, start + i), i);
            }
            for (long j = k - 1; j >= 0; j--) {
              int i = best.takeWorst();
              StridedCopy.copyRun(x, start + i, values, row * k + j, 1);
              indices.setLong(row * k + j, i);
            }
          }
        });
  }

  /** The best so many of the elements offered: a heap with the worst of them on top. */
  private static final class Best {
    private final long[] keys;
    private final int[] positions;
    private int size;

    Best(int k) {
      keys = new long[k];
      positions = new int[k];
    }

    void clear() {
      size = 0;
    }

    /** Later ones of equal elements are worse, so that they need not be compared by position. */
    void offer(long key, int position) {
      if (size < keys.length) {
        keys[size] = key;
        positions[size] = position;
        up(size++);
      } else if (key > keys[0]) {
        keys[0] = key;
        positions[0] = position;
        down();
      }
    }

    int takeWorst() {
      int worst = positions[0];
      size--;
      keys[0] = keys[size];
      positions[0] = positions[size];
      down();
      return worst;
    }

    private void up(int i) {
      while (i > 0 && isWorse(i, (i - 1) / 2)) {
        swap(i, (i - 1) / 2);
        i = (i - 1) / 2;
      }
    }

    private void down() {
      int i = 0;
      while (2 * i + 1 < size) {
        int child = 2 * i + 1;
        if (child + 1 < size && isWorse(child + 1, child)) {
          child++;
        }
        if (!isWorse(child, i)) {
          return;
        }
        swap(i, child);
        i = child;
      }
    }

    private boolean isWorse(int a, int b) {
      return keys[a] != keys[b] ? keys[a] < keys[b] : positions[a] > positions[b];
    }

    private void swap(int a, int b) {
      long key = keys[a];
      keys[a] = keys[b];
      keys[b] = key;
      int position = positions[a];
      positions[a] = positions[b];
      positions[b] = position;
    }
  }

  /** Each value goes back to where it stood: positions counted through all rows, and added up. */
  private static void gradient(GradientContext g) {
    Scope s = g.scope();
    Output x = g.input(0);
    Output shape = ShapeOf.known(s, x);
    Output flat = Const.ints(s, -1);
    Output width = StridedSlice.at(s, shape, -1);
    Output indices = MathNodes.cast(s, g.output(1), DType.INT32);
    Output found = StridedSlice.range(s, ShapeOf.of(s, indices), -1, null);
    Output table = Reshape.of(s, indices, Concat.of(s, List.of(flat, found), 0));
    Output rows = StridedSlice.at(s, ShapeOf.of(s, table), 0);
    Output starts = ExpandDims.of(s, MathNodes.mul(s, Range.of(s, rows), width), 1);
    Output places = Reshape.of(s, MathNodes.add(s, table, starts), flat);
    Output all = MathNodes.prod(s, shape, Const.ints(s, 0), false);
    Output sum = SegmentSum.unsorted(s, Reshape.of(s, g.dy(), flat), places, all);
    g.dx(0, Reshape.of(s, sum, shape));
  }
}
