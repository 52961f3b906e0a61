package dev.millrace.ops.sparse;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Gradient;
import dev.millrace.graph.GradientContext;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.ShapeContext;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.StridedCopy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;

/** Sparse tensors joined along a dimension, cut along one, and boxes cut out of them. */
final class SparsePieces {
  static final Op CONCAT =
      Op.define("SparseConcat")
          .attr("concat_dim: int")
          .attr("N: int >= 2")
          .attr("T: type")
          .input("indices: N * int64")
          .input("values: N * T")
          .input("shapes: N * int64")
          .output("output_indices: int64")
          .output("output_values: T")
          .output("output_shape: int64")
          .shape(SparsePieces::inferConcat)
          .kernelPerNode(SparsePieces::concat)
          .noGradient("TensorFlow has none either")
          .build();

  static final Op SPLIT =
      Op.define("SparseSplit")
          .attr("num_split: int >= 1")
          .attr("T: type")
          .input("split_dim: int64")
          .input("indices: int64")
          .input("values: T")
          .input("shape: int64")
          .output("output_indices: num_split * int64")
          .output("output_values: num_split * T")
          .output("output_shape: num_split * int64")
          .shape(SparsePieces::inferSplit)
          .kernelPerNode(SparsePieces::split)
          .gradient(Gradient.undefined("TensorFlow has none either"))
          .build();

  static final Op SLICE =
      Op.define("SparseSlice")
          .attr("T: type")
          .input("indices: int64")
          .input("values: T")
          .input("shape: int64")
          .input("start: int64")
          .input("size: int64")
          .output("output_indices: int64")
          .output("output_values: T")
          .output("output_shape: int64")
          .shape(
              c -> {
                long rank = c.inputOfRank(2, 1).dim(0);
                return List.of(
                    Shape.of(Shape.UNKNOWN, rank), Shape.of(Shape.UNKNOWN), Shape.of(rank));
              })
          .kernel(SparsePieces::slice)
          .gradient(SparsePieces::sliceGradient)
          .build();

  /** What goes back to the values of which a box was cut out: nothing to those outside. */
  static final Op SLICE_GRAD =
      Op.define("SparseSliceGrad")
          .attr("T: numbertype")
          .input("backprop_val_grad: T")
          .input("input_indices: int64")
          .input("input_start: int64")
          .input("output_indices: int64")
          .output("val_grad: T")
          .shape(c -> List.of(Shape.of(c.inputOfRank(1, 2).dim(0))))
          .kernelPerNode(SparsePieces::sliceGrad)
          .gradient(Gradient.undefined("TensorFlow has no second derivative of it either"))
          .build();

  static final List<Op> ALL = List.of(CONCAT, SPLIT, SLICE, SLICE_GRAD);

  private SparsePieces() {}

  private static List<Shape> inferConcat(ShapeContext c) {
    int n = c.inputCount() / 3;
    long count = 0;
    Shape dims = Shape.unknownOfRank(1);
    for (int i = 0; i < n; i++) {
      Shape indices = c.inputOfRank(i, 2);
      long rows = Shape.of(indices.dim(0)).mergeWith(c.inputOfRank(n + i, 1)).dim(0);
      dims = dims.mergeWith(c.inputOfRank(2 * n + i, 1)).mergeWith(Shape.of(indices.dim(1)));
      count = rows < 0 || count < 0 ? Shape.UNKNOWN : count + rows;
    }
    return List.of(Shape.of(count, dims.dim(0)), Shape.of(count), dims);
  }

  private static Kernel concat(Node node) {
    long given = node.longAttr("concat_dim");
    return c -> {
      int n = c.inputCount() / 3;
      List<Coo> parts = new ArrayList<>();
      for (int i = 0; i < n; i++) {
        parts.add(Coo.of(c.input(i), c.input(n + i), c.input(2 * n + i)));
      }
      Shape first = parts.getFirst().shape();
      int rank = first.rank();
      int axis = (int) (given < 0 ? given + rank : given);
      if (given < -rank || given >= rank) {
        throw MillraceException.invalid(
            "Concat dimension must be in range [%d, %d), got %d", -rank, rank, given);
      }
      long total = 0;
      long length = 0;
      for (int i = 0; i < n; i++) {
        Coo part = parts.get(i);
        if (part.rank() != rank) {
          throw MillraceException.invalid(
              "Ranks of all input tensors must match: expected %d but got %d at position %d",
              rank, part.rank(), i);
        }
        for (int d = 0; d < rank; d++) {
          if (d != axis && part.shape().dim(d) != first.dim(d)) {
            throw MillraceException.invalid(
                "Input shapes must match: expected %d for dimension %d but got %d at position %d",
                first.dim(d), d, part.shape().dim(d), i);
          }
        }
        total += part.count();
        length += part.shape().dim(axis);
      }
      join(c, parts, axis, Math.toIntExact(total));
      Coo.putShape(c, 2, first.withDim(axis, length));
    };
  }

  /** All values, in the order of their coordinates in the whole. */
  private static void join(KernelContext c, List<Coo> parts, int axis, int total) {
    int rank = parts.getFirst().rank();
    long[][] at = new long[total][rank];
    int[] part = new int[total];
    int[] row = new int[total];
    Integer[] order = new Integer[total];
    int k = 0;
    long offset = 0;
    for (int p = 0; p < parts.size(); p++) {
      Coo in = parts.get(p);
      for (int i = 0; i < in.count(); i++, k++) {
        for (int d = 0; d < rank; d++) {
          at[k][d] = in.at(i, d) + (d == axis ? offset : 0);
        }
        part[k] = p;
        row[k] = i;
        order[k] = k;
      }
      offset += in.shape().dim(axis);
    }
    Arrays.sort(order, Comparator.comparing(i -> at[i], Arrays::compare));
    Tensor indices = c.allocate(0, Shape.of(total, rank));
    Tensor values = c.allocate(1, Shape.of(total));
    for (int to = 0; to < total; to++) {
      int from = order[to];
      for (int d = 0; d < rank; d++) {
        indices.setLong((long) to * rank + d, at[from][d]);
      }
      StridedCopy.copyRun(parts.get(part[from]).values(), row[from], values, to, 1);
    }
  }

  private static List<Shape> inferSplit(ShapeContext c) {
    Shape dims = c.inputOfRank(3, 1);
    int n = c.node().outputCount() / 3;
    List<Shape> shapes = new ArrayList<>();
    for (int i = 0; i < 3 * n; i++) {
      shapes.add(
          i < n
              ? Shape.of(Shape.UNKNOWN, dims.dim(0))
              : i < 2 * n ? Shape.of(Shape.UNKNOWN) : dims);
    }
    return shapes;
  }

  private static Kernel split(Node node) {
    int n = node.intAttr("num_split");
    return c -> {
      Tensor dim = c.input(0);
      if (!dim.shape().isScalar()) {
        throw MillraceException.invalid(
            "axis should be a scalar but received shape %s", dim.shape());
      }
      Coo in = Coo.of(c, 1);
      long given = dim.longAt(0);
      if (given < -in.rank() || given >= in.rank()) {
        throw MillraceException.invalid(
            "Input axis should be in range [%d, %d), got %d", -in.rank(), in.rank(), given);
      }
      int axis = (int) (given < 0 ? given + in.rank() : given);
      long size = in.shape().dim(axis);
      if (n > size) {
        throw MillraceException.invalid(
            "Input num_split should be between 1 and the splitting dimension size (%d), got %d",
            size, n);
      }
      // What does not divide is spread over the first pieces.
      long longer = size % n;
      long[] starts = new long[n + 1];
      for (int p = 0; p < n; p++) {
        starts[p + 1] = starts[p] + size / n + (p < longer ? 1 : 0);
      }
      for (int p = 0; p < n; p++) {
        long[] start = new long[in.rank()];
        start[axis] = starts[p];
        Shape box = in.shape().withDim(axis, starts[p + 1] - starts[p]);
        cut(c, in, start, box, new int[] {p, n + p, 2 * n + p});
      }
    };
  }

  private static void slice(KernelContext c) {
    Coo in = Coo.of(c, 0);
    for (int i = 3; i < 5; i++) {
      String what = i == 3 ? "start" : "size";
      Coo.requireRank(what, "a vector", c.input(i), 1);
      if (c.input(i).elements() != in.rank()) {
        throw MillraceException.invalid(
            "Expected %s to be a vector of length %d but got length %d",
            what, in.rank(), c.input(i).elements());
      }
    }
    long[] start = c.input(3).toLongs();
    long[] size = c.input(4).toLongs();
    for (int d = 0; d < size.length; d++) {
      if (start[d] < 0 || size[d] < 0) {
        throw MillraceException.invalid(
            "Expected start and size to be >= 0, got start[%d] = %d and size[%d] = %d",
            d, start[d], d, size[d]);
      }
      size[d] = Math.max(0, Math.min(size[d], in.shape().dim(d) - start[d]));
    }
    cut(c, in, start, Shape.of(size), new int[] {0, 1, 2});
  }

  /** Sets three outputs to the values inside a box, in their order. */
  private static void cut(KernelContext c, Coo in, long[] start, Shape box, int[] outputs) {
    int rank = in.rank();
    int n = 0;
    for (long i = 0; i < in.count(); i++) {
      n += isInside(in, i, start, box) ? 1 : 0;
    }
    Tensor indices = c.allocate(outputs[0], Shape.of(n, rank));
    Tensor values = c.allocate(outputs[1], Shape.of(n));
    long to = 0;
    for (long i = 0; i < in.count(); i++) {
      if (isInside(in, i, start, box)) {
        for (int d = 0; d < rank; d++) {
          indices.setLong(to * rank + d, in.at(i, d) - start[d]);
        }
        StridedCopy.copyRun(in.values(), i, values, to++, 1);
      }
    }
    Coo.putShape(c, outputs[2], box);
  }

  private static boolean isInside(Coo in, long i, long[] start, Shape box) {
    for (int d = 0; d < start.length; d++) {
      long k = in.at(i, d) - start[d];
      if (k < 0 || k >= box.dim(d)) {
        return false;
      }
    }
    return true;
  }

  private static void sliceGradient(GradientContext g) {
    Node back = g.scope().add(SLICE_GRAD, g.dy(1), g.input(0), g.input(3), g.output(0));
    back.output().refineShape(g.input(1).shape());
    g.dx(1, back.output());
  }

  private static Kernel sliceGrad(Node node) {
    Coo.requireType(node, "T", DType.REAL);
    return c -> {
      Tensor dy = c.input(0);
      Tensor in = c.input(1);
      Tensor start = c.input(2);
      Tensor out = c.input(3);
      Coo.requireRank("backprop_val_grad", "a vector", dy, 1);
      Coo.requireRank("input_indices", "a matrix", in, 2);
      Coo.requireRank("input_start", "a vector", start, 1);
      Coo.requireRank("output_indices", "a matrix", out, 2);
      int rank = (int) in.shape().dim(1);
      if (out.shape().dim(1) != rank || start.elements() != rank) {
        throw MillraceException.invalid(
            "The input and output should have the same ndims: got: %d and %d; and the start should"
                + " have as many, it has %d",
            rank, out.shape().dim(1), start.elements());
      }
      if (dy.elements() != out.shape().dim(0)) {
        throw MillraceException.invalid(
            "The number of elements of backprop_val_grad must match rows of output_indices, got"
                + " %d and %d",
            dy.elements(), out.shape().dim(0));
      }
      Tensor dx = c.allocate(0, Shape.of(in.shape().dim(0)));
      dx.data().fill((byte) 0);
      long used = 0;
      for (long i = 0; i < dx.elements() && used < dy.elements(); i++) {
        boolean same = true;
        for (int d = 0; d < rank; d++) {
          same &= in.longAt(i * rank + d) == out.longAt(used * rank + d) + start.longAt(d);
        }
        if (same) {
          StridedCopy.copyRun(dy, used++, dx, i, 1);
        }
      }
      if (used < dy.elements()) {
        throw new MillraceException(
            Code.INTERNAL,
            "Elements of backprop_val_grad aren't all propagated. Num elements:%d, used: %d"
                .formatted(dy.elements(), used));
      }
    };
  }
}
