package dev.millrace.ops.sparse;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.StridedCopy;
import java.util.ArrayList;
import java.util.List;

/** Sparse tensors as the rows of one with more dimensions. */
final class SparseBatch {
  private SparseBatch() {}

  /** The rows of {@code in}, one for each place of its first dimension; counted, like inputs. */
  static List<Coo> rows(Coo in) {
    if (in.rank() < 2) {
      throw MillraceException.invalid(
          "Rank of input SparseTensor should be > 1, but saw rank: %d", in.rank());
    }
    long rows = in.shape().dim(0);
    int[] counts = new int[count(rows)];
    for (long i = 0; i < in.count(); i++) {
      long r = in.at(i, 0);
      if (r < 0 || r >= rows) {
        throw MillraceException.invalid(
            "Received unexpected column 0 value in input SparseTensor: %d < 0 (or >= N (= %d))",
            r, rows);
      }
      counts[(int) r]++;
    }
    int rank = in.rank() - 1;
    Shape shape = in.shape().slice(1, in.rank());
    List<Coo> parts = new ArrayList<>(counts.length);
    for (int n : counts) {
      parts.add(
          new Coo(
              Refs.allocate(DType.INT64, Shape.of(n, rank)),
              Refs.allocate(in.values().dtype(), Shape.of(n)),
              shape));
    }
    int[] next = new int[counts.length];
    for (long i = 0; i < in.count(); i++) {
      int r = (int) in.at(i, 0);
      int k = next[r]++;
      Coo part = parts.get(r);
      StridedCopy.copyRun(in.indices(), i * in.rank() + 1, part.indices(), (long) k * rank, rank);
      StridedCopy.copyRun(in.values(), i, part.values(), k, 1);
    }
    return parts;
  }

  private static int count(long rows) {
    if (rows > Integer.MAX_VALUE) {
      throw MillraceException.invalid("A sparse tensor of %d rows cannot be taken apart.", rows);
    }
    return (int) rows;
  }

  /** Complains of a part whose values are of another type than asked for. */
  static void requireType(DType wanted, DType found, int part) {
    if (wanted != found) {
      throw MillraceException.invalid(
          "Requested SparseTensor of type %s but SparseTensor[%d].values.dtype() == %s",
          wanted, part, found);
    }
  }

  /**
   * Sets the three outputs to all parts, which must have one rank: as many as {@code batch} has
   * elements, in dimensions before those of the largest part.
   */
  static void stack(KernelContext c, List<Coo> parts, Shape batch) {
    int inner = parts.getFirst().rank();
    long[] dims = new long[inner];
    long total = 0;
    for (Coo part : parts) {
      total += part.count();
      for (int d = 0; d < inner; d++) {
        dims[d] = Math.max(dims[d], part.shape().dim(d));
      }
    }
    int rank = batch.rank() + inner;
    Tensor indices = c.allocate(0, Shape.of(total, rank));
    Tensor values = c.allocate(1, Shape.of(total));
    long[] outer = new long[batch.rank()];
    long to = 0;
    for (Coo part : parts) {
      for (long i = 0; i < part.count(); i++, to++) {
        for (int d = 0; d < outer.length; d++) {
          indices.setLong(to * rank + d, outer[d]);
        }
        StridedCopy.copyRun(part.indices(), i * inner, indices, to * rank + outer.length, inner);
        StridedCopy.copyRun(part.values(), i, values, to, 1);
      }
      for (int d = outer.length - 1; d >= 0 && ++outer[d] == batch.dim(d); d--) {
        outer[d] = 0;
      }
    }
    Coo.putShape(c, 2, batch.concat(Shape.of(dims)));
  }

  /** The shapes of what {@link #stack} makes, of which nothing but the ranks is known. */
  static List<Shape> shapes() {
    return List.of(Shape.unknownOfRank(2), Shape.of(Shape.UNKNOWN), Shape.of(Shape.UNKNOWN));
  }

  /** The tensors of {@code part}: indices, values, and the shape as a vector; all counted. */
  static List<Tensor> tensors(Coo part) {
    Tensor dims = Refs.allocate(DType.INT64, Shape.of(part.rank()));
    for (int d = 0; d < part.rank(); d++) {
      dims.setLong(d, part.shape().dim(d));
    }
    return List.of(part.indices(), part.values(), dims);
  }

  static void release(List<Coo> parts) {
    parts.forEach(
        part -> {
          Refs.release(part.indices());
          Refs.release(part.values());
        });
  }
}
