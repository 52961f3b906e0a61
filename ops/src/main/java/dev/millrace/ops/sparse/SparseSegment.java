package dev.millrace.ops.sparse;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Gradient;
import dev.millrace.graph.GradientContext;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.ShapeContext;
import dev.millrace.ops.array.Axis;
import dev.millrace.ops.array.Gather;
import dev.millrace.ops.array.ShapeOf;
import dev.millrace.ops.array.StridedSlice;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.Rows;
import dev.millrace.tensor.math.elementwise.ElementCast;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

/**
 * Picks rows by index and combines those of each segment, whose ids do not fall: what an embedding
 * of several ids per example is. Segments without rows are zero.
 */
final class SparseSegment {
  /** How the rows of a segment become one. */
  private enum Combiner {
    SUM("Sum") {
      @Override
      double weight(long n) {
        return 1;
      }
    },
    MEAN("Mean") {
      @Override
      double weight(long n) {
        return 1.0 / n;
      }
    },
    SQRT_N("SqrtN") {
      @Override
      double weight(long n) {
        return 1 / Math.sqrt((double) n);
      }
    };

    private final String label;

    Combiner(String label) {
      this.label = label;
    }

    /** What the sum of {@code n} rows is multiplied with. */
    abstract double weight(long n);
  }

  static final List<Op> ALL =
      Arrays.stream(Combiner.values())
          .flatMap(
              c ->
                  Stream.of(
                      define(c, false),
                      define(c, true),
                      defineGradient(c, false),
                      defineGradient(c, true)))
          .toList();

  private SparseSegment() {}

  private static Op define(Combiner how, boolean numbered) {
    String types = how == Combiner.SUM ? "realnumbertype" : "{bfloat16, half, float, double}";
    Op.Builder op =
        Op.define("SparseSegment" + how.label + (numbered ? "WithNumSegments" : ""))
            .attr("T: " + types)
            .attr("Tidx: {int32, int64} = int32");
    if (numbered) {
      op.attr("Tnumsegments: {int32, int64} = int32");
    }
    op.attr("Tsegmentids: {int32, int64} = int32")
        .attr("sparse_gradient: bool = false")
        .input("data: T")
        .input("indices: Tidx")
        .input("segment_ids: Tsegmentids");
    if (numbered) {
      op.input("num_segments: Tnumsegments");
    }
    return op.output("output: T")
        .shape(c -> infer(c, numbered))
        .kernel(c -> compute(c, how, numbered))
        .gradient(g -> gradient(g, how))
        .build();
  }

  /** What goes back to the rows; in the second version to those alone that were picked. */
  private static Op defineGradient(Combiner how, boolean picked) {
    Op.Builder op =
        Op.define("SparseSegment" + how.label + (picked ? "GradV2" : "Grad"))
            .attr("T: {bfloat16, half, float, double}")
            .attr("Tidx: {int32, int64} = int32")
            .attr("Tsegmentids: {int32, int64} = int32")
            .input("grad: T")
            .input("indices: Tidx")
            .input("segment_ids: Tsegmentids")
            .input((picked ? "dense_output_dim0" : "output_dim0") + ": int32")
            .output("output: T");
    if (picked) {
      op.output("sorted_unique_indices: Tidx");
    }
    return op.shape(c -> inferGradient(c, picked))
        .kernel(c -> computeGradient(c, how, picked))
        .gradient(Gradient.undefined("TensorFlow has no second derivative of it either"))
        .build();
  }

  private static List<Shape> infer(ShapeContext c, boolean numbered) {
    Shape data = c.input(0);
    c.inputOfRank(1, 1).mergeWith(c.inputOfRank(2, 1));
    requireRows(data);
    long rows = Shape.UNKNOWN;
    if (numbered) {
      c.inputOfRank(3, 0);
      Tensor number = c.constant(3);
      rows = number == null ? rows : number(number);
    }
    return List.of(data.hasRank() ? data.withDim(0, rows) : Shape.unknown());
  }

  private static List<Shape> inferGradient(ShapeContext c, boolean picked) {
    Shape grad = c.input(0);
    c.inputOfRank(1, 1).mergeWith(c.inputOfRank(2, 1));
    c.inputOfRank(3, 0);
    requireRows(grad);
    Tensor dim = picked ? null : c.constant(3);
    Shape out =
        grad.hasRank()
            ? grad.withDim(0, dim == null ? Shape.UNKNOWN : Math.max(0, dim.longAt(0)))
            : Shape.unknown();
    return picked ? List.of(out, Shape.of(Shape.UNKNOWN)) : List.of(out);
  }

  private static void requireRows(Shape s) {
    if (s.isScalar()) {
      throw MillraceException.invalid("Shape must be at least rank 1 but is rank 0");
    }
  }

  private static long number(Tensor t) {
    long n = Axis.single(t, "num_segments");
    if (n < 0) {
      throw MillraceException.invalid("Cannot specify a negative value for num_segments: %d", n);
    }
    return n;
  }

  private static void checkIndices(KernelContext c) {
    requireRows(c.input(0).shape());
    for (int i = 1; i < 3; i++) {
      if (c.input(i).shape().rank() != 1) {
        throw MillraceException.invalid(
            "%s should be a vector.", i == 1 ? "indices" : "segment_ids");
      }
    }
    if (c.input(1).elements() != c.input(2).elements()) {
      throw MillraceException.invalid("segment_ids and indices should have same size.");
    }
  }

  private static void compute(KernelContext c, Combiner how, boolean numbered) {
    checkIndices(c);
    Tensor data = c.input(0);
    Tensor indices = c.input(1);
    Tensor ids = c.input(2);
    long n = ids.elements();
    long limit = numbered ? number(c.input(3)) : Long.MAX_VALUE;
    long last = 0;
    for (long i = 0; i < n; i++) {
      long id = ids.longAt(i);
      if (id < 0) {
        throw MillraceException.invalid("segment ids must be >= 0");
      }
      if (id < last) {
        throw MillraceException.invalid("segment ids are not increasing");
      }
      if (id >= limit) {
        throw MillraceException.invalid("segment ids must be < num_segments");
      }
      last = id;
    }
    long rows = numbered ? limit : n == 0 ? 0 : last + 1;
    Shape s = data.shape();
    long wrong = Rows.firstOutside(indices, s.dim(0));
    if (wrong >= 0) {
      throw MillraceException.invalid(
          "Bad: indices[%d] == %d out of range [0, %d)", wrong, indices.longAt(wrong), s.dim(0));
    }
    long length = s.slice(1, s.rank()).elements();
    Tensor out = c.allocate(0, s.withDim(0, rows));
    if (isShort(data.dtype())) {
      // Sums of short floats are too coarse: the rows picked are added as floats.
      Tensor picked = Refs.allocate(data.dtype(), s.withDim(0, n));
      Tensor wide = Refs.allocate(DType.FLOAT, picked.shape());
      Tensor sum = Refs.allocate(DType.FLOAT, out.shape());
      try {
        if (picked.elements() > 0) {
          Rows.gather(data, 1, 1, s.dim(0), length, indices, picked);
        }
        ElementCast.run(picked, wide);
        sum.data().fill((byte) 0);
        Rows.add(sum, ids, wide, length);
        weigh(sum, length, counts(ids, rows), how);
        ElementCast.run(sum, out);
      } finally {
        Refs.release(picked);
        Refs.release(wide);
        Refs.release(sum);
      }
      return;
    }
    out.data().fill((byte) 0);
    Rows.addPicked(out, ids, data, indices, length);
    weigh(out, length, counts(ids, rows), how);
  }

  private static boolean isShort(DType type) {
    return type == DType.HALF || type == DType.BFLOAT16;
  }

  /** How many rows each segment has. */
  private static int[] counts(Tensor ids, long rows) {
    int[] counts = new int[Math.toIntExact(rows)];
    for (long i = 0; i < ids.elements(); i++) {
      counts[(int) ids.longAt(i)]++;
    }
    return counts;
  }

  private static void weigh(Tensor sums, long length, int[] counts, Combiner how) {
    for (int r = 0; how != Combiner.SUM && r < counts.length; r++) {
      double w = how.weight(counts[r]);
      for (long k = r * length; counts[r] > 1 && k < (r + 1) * length; k++) {
        sums.setDouble(k, sums.doubleAt(k) * w);
      }
    }
  }

  private static void computeGradient(KernelContext c, Combiner how, boolean picked) {
    checkIndices(c);
    Tensor grad = c.input(0);
    Tensor indices = c.input(1);
    Tensor ids = c.input(2);
    long rows = Axis.single(c.input(3), "output_dim0");
    if (rows < 0) {
      throw MillraceException.invalid("output_dim0 must not be negative: %d", rows);
    }
    long segments = grad.shape().dim(0);
    long wrong = Rows.firstOutside(ids, segments);
    if (wrong >= 0) {
      throw MillraceException.invalid(
          "Segment id %d out of range [0, %d).", ids.longAt(wrong), segments);
    }
    wrong = Rows.firstOutside(indices, rows);
    if (wrong >= 0) {
      throw MillraceException.invalid(
          "Index %d out of range [0, %d).", indices.longAt(wrong), rows);
    }
    Shape s = grad.shape();
    long length = s.slice(1, s.rank()).elements();
    long[] unique = picked ? Arrays.stream(indices.toLongs()).sorted().distinct().toArray() : null;
    if (picked) {
      Tensor sorted = c.allocate(1, Shape.of(unique.length));
      for (int i = 0; i < unique.length; i++) {
        sorted.setLong(i, unique[i]);
      }
      rows = unique.length;
    }
    Tensor out = c.allocate(0, s.withDim(0, rows));
    Tensor places = picked ? numbers(indices, unique) : Refs.retain(indices);
    Tensor wide = Refs.allocate(isShort(grad.dtype()) ? DType.FLOAT : grad.dtype(), s);
    Tensor sum = Refs.allocate(wide.dtype(), out.shape());
    try {
      ElementCast.run(grad, wide);
      weigh(wide, length, counts(ids, segments), how);
      sum.data().fill((byte) 0);
      Rows.addPicked(sum, places, wide, ids, length);
      ElementCast.run(sum, out);
    } finally {
      Refs.release(places);
      Refs.release(wide);
      Refs.release(sum);
    }
  }

  /** For each index its number among those that there are. */
  private static Tensor numbers(Tensor indices, long[] unique) {
    Tensor numbers = Refs.allocate(DType.INT64, indices.shape());
    for (long i = 0; i < indices.elements(); i++) {
      numbers.setLong(i, Arrays.binarySearch(unique, indices.longAt(i)));
    }
    return numbers;
  }

  /** A sum is as many rows as were picked; the others are weighed for each of them. */
  private static void gradient(GradientContext g, Combiner how) {
    Scope s = g.scope();
    Output shape = ShapeOf.of(s, g.input(0));
    if (how == Combiner.SUM) {
      g.dxRows(0, Gather.of(s, g.dy(), g.input(2)), g.input(1), shape);
      return;
    }
    Output rows = StridedSlice.at(s, shape, 0);
    Output dx =
        s.node("SparseSegment" + how.label + "Grad")
            .input(g.dy())
            .input(g.input(1))
            .input(g.input(2))
            .input(rows)
            .add()
            .output();
    dx.refineShape(g.input(0).shape());
    g.dx(0, dx);
  }
}
