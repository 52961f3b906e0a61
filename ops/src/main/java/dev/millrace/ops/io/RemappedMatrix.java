package dev.millrace.ops.io;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.ops.waiting.Background;
import dev.millrace.storage.checkpoint.BundleReader;
import dev.millrace.storage.checkpoint.ShapeAndSlice;
import dev.millrace.storage.checkpoint.TensorSlice;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

/**
 * A float matrix of a checkpoint with its rows and columns in a new order. Row {@code i} of the
 * result is the stored row {@code row_remapping[i]}, and likewise for columns; an entry of -1 takes
 * the next of {@code initializing_values}, row by row. An empty column remapping keeps all columns.
 * At most {@code max_rows_in_memory} rows are read at a time.
 */
final class RemappedMatrix {
  static final Op OP =
      Op.define("LoadAndRemapMatrix")
          .attr("num_rows: int >= 0")
          .attr("num_cols: int >= 1")
          .attr("max_rows_in_memory: int = -1")
          .input("ckpt_path: string")
          .input("old_tensor_name: string")
          .input("row_remapping: int64")
          .input("col_remapping: int64")
          .input("initializing_values: float")
          .output("output_matrix: float")
          .stateful()
          .shape(c -> List.of(resultShape(c.node())))
          .asyncKernel(
              node -> {
                Shape shape = resultShape(node);
                long maxRows = node.longAttr("max_rows_in_memory");
                return Background.of(c -> compute(c, shape, maxRows));
              })
          .noGradient("what a file holds depends on nothing in the graph")
          .build();

  private RemappedMatrix() {}

  private static Shape resultShape(Node node) {
    return Shape.of(node.longAttr("num_rows"), node.longAttr("num_cols"));
  }

  private static void compute(KernelContext c, Shape shape, long maxRows) {
    String name = FileNames.scalar(c, 1).stringAt(0);
    if (c.input(0).elements() != 1) {
      throw MillraceException.invalid(
          "ckpt_path must be the prefix of one checkpoint; it has shape %s.", c.input(0).shape());
    }
    Path prefix = FileNames.path(c.input(0).stringAt(0));
    try (BundleReader reader = new BundleReader(prefix)) {
      Shape stored = reader.shape(name);
      if (stored.rank() != 2 || reader.dtype(name) != DType.FLOAT) {
        throw MillraceException.invalid(
            "Tensor '%s' of checkpoint %s is %s of shape %s; it must be a matrix of floats.",
            name, prefix, reader.dtype(name), stored);
      }
      long[] rows = remapping(c, 2, shape.dim(0), stored.dim(0));
      boolean keepColumns = c.input(3).elements() == 0;
      if (keepColumns && shape.dim(1) != stored.dim(1)) {
        throw MillraceException.invalid(
            "num_cols is %d and there is no column remapping, but tensor '%s' of checkpoint %s has"
                + " shape %s.",
            shape.dim(1), name, prefix, stored);
      }
      long[] oldColumns = keepColumns ? null : remapping(c, 3, shape.dim(1), stored.dim(1));
      Tensor out = c.allocate(0, shape);
      long missing = fillMissing(c.input(4), out, rows, oldColumns);
      if (missing != c.input(4).elements()) {
        throw MillraceException.invalid(
            "initializing_values has %d values, but %d entries of the matrix are to be taken from"
                + " it.",
            c.input(4).elements(), missing);
      }
      long step = maxRows > 0 ? maxRows : Math.max(1, stored.dim(0));
      long[] newRows = inverse(rows, stored.dim(0));
      for (long from = 0; from < stored.dim(0); from += step) {
        c.cancellation().check();
        long to = Math.min(stored.dim(0), from + step);
        if (Arrays.stream(newRows, (int) from, (int) to).anyMatch(row -> row >= 0)) {
          copyRows(read(reader, name, stored, from, to), from, out, newRows, oldColumns);
        }
      }
    }
  }

  private static long[] remapping(KernelContext c, int input, long wanted, long limit) {
    Tensor remapping = c.input(input);
    String what = c.node().op().inputs().get(input).name();
    if (remapping.shape().rank() != 1 || remapping.elements() != wanted) {
      throw MillraceException.invalid(
          "%s has shape %s; it must be a vector of %d.", what, remapping.shape(), wanted);
    }
    boolean[] seen = new boolean[Math.toIntExact(limit)];
    long[] indices = remapping.toLongs();
    for (long old : indices) {
      if (old >= limit) {
        throw MillraceException.invalid(
            "%s has the entry %d; the stored matrix has only %d.", what, old, limit);
      }
      if (old >= 0 && seen[(int) old]) {
        throw new MillraceException(
            Code.UNIMPLEMENTED,
            "%s has the entry %d more than once; each old row or column may be used only once."
                .formatted(what, old));
      }
      if (old >= 0) {
        seen[(int) old] = true;
      }
    }
    return indices;
  }

  /** Fills entries that have no old value, as far as values go; returns how many there are. */
  private static long fillMissing(Tensor values, Tensor out, long[] rows, long[] columns) {
    long missing = 0;
    long width = out.shape().dim(1);
    for (int row = 0; row < rows.length; row++) {
      for (int column = 0; column < width; column++) {
        if (rows[row] < 0 || columns != null && columns[column] < 0) {
          if (missing < values.elements()) {
            out.setDouble(row * width + column, values.doubleAt(missing));
          }
          missing++;
        }
      }
    }
    return missing;
  }

  /** For each old row its new place, or -1. */
  private static long[] inverse(long[] rows, long oldRows) {
    long[] inverse = new long[Math.toIntExact(oldRows)];
    Arrays.fill(inverse, -1);
    for (int row = 0; row < rows.length; row++) {
      if (rows[row] >= 0) {
        inverse[(int) rows[row]] = row;
      }
    }
    return inverse;
  }

  private static Tensor read(BundleReader reader, String name, Shape stored, long from, long to) {
    TensorSlice rows = TensorSlice.of(new long[] {from, 0}, new long[] {to - from, stored.dim(1)});
    return reader.readCounted(name, new ShapeAndSlice(stored, rows));
  }

  /** Copies the rows of {@code part}, which begins at old row {@code from}, and releases it. */
  private static void copyRows(Tensor part, long from, Tensor out, long[] newRows, long[] columns) {
    long width = out.shape().dim(1);
    long oldWidth = part.shape().dim(1);
    for (long i = 0; i < part.shape().dim(0); i++) {
      long row = newRows[(int) (from + i)];
      for (int column = 0; row >= 0 && column < width; column++) {
        long old = columns == null ? column : columns[column];
        if (old >= 0) {
          out.setDouble(row * width + column, part.doubleAt(i * oldWidth + old));
        }
      }
    }
    Refs.release(part);
  }
}
