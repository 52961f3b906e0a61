package dev.millrace.ops.array;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.StridedCopy;
import java.util.Arrays;

/**
 * What {@code x[begin:end:stride, ..., newaxis, index]} means for a tensor of a given shape.
 *
 * <p>The masks have a bit for each entry of the specification: begin and end bits say that the
 * bound is left out, an ellipsis stands for as many whole dimensions as are missing, a new axis
 * adds a dimension of 1, and a shrunk axis is a plain index, which takes its dimension away.
 */
final class SliceSpec {
  private final int begins;
  private final int ends;
  private final int ellipsis;
  private final int newAxes;
  private final int shrinks;

  SliceSpec(Node node) {
    this.begins = node.intAttr("begin_mask");
    this.ends = node.intAttr("end_mask");
    this.ellipsis = node.intAttr("ellipsis_mask");
    this.newAxes = node.intAttr("new_axis_mask");
    this.shrinks = node.intAttr("shrink_axis_mask");
    if (Integer.bitCount(ellipsis) > 1) {
      throw MillraceException.invalid("Multiple ellipses in slice spec not allowed");
    }
  }

  /**
   * The part of a tensor that is meant: {@code dims} elements per dimension of the tensor, {@code
   * strides} apart, and the {@code shape} of the result. Sizes that are not known yet are -1.
   */
  record Box(long[] begin, long[] strides, long[] dims, Shape shape) {
    /** The position of the first element in a tensor of shape {@code in}. */
    long start(Shape in) {
      long[] s = StridedCopy.rowMajor(in.dims());
      long start = 0;
      for (int i = 0; i < s.length; i++) {
        start += begin[i] * s[i];
      }
      return start;
    }

    /** How far apart in memory the elements are, in a tensor of shape {@code in}. */
    long[] steps(Shape in) {
      long[] s = StridedCopy.rowMajor(in.dims());
      for (int i = 0; i < s.length; i++) {
        s[i] *= strides[i];
      }
      return s;
    }
  }

  /** For a tensor of shape {@code in}; bounds may be null where they are not known yet. */
  Box of(Shape in, Tensor begin, Tensor end, Tensor strides) {
    checkVectors(begin, end, strides);
    int rank = in.rank();
    int entries = Math.toIntExact(strides.elements());
    Box box = new Box(new long[rank], new long[rank], new long[rank], null);
    long[] out = new long[rank + Integer.bitCount(newAxes)];
    int n = 0;
    int dim = 0;
    boolean sawEllipsis = false;
    for (int i = 0; i <= entries; i++) {
      // Past the last entry stands an ellipsis, unless there was one.
      if (i == entries ? !sawEllipsis : has(ellipsis, i)) {
        sawEllipsis = true;
        int next = Math.min(rank, i == entries ? rank : rank - consumedAfter(i, entries));
        for (; dim < next; dim++) {
          box.strides[dim] = 1;
          box.dims[dim] = in.dim(dim);
          out[n++] = in.dim(dim);
        }
      } else if (i < entries && has(newAxes, i)) {
        out[n++] = 1;
      } else if (i < entries) {
        if (dim == rank) {
          throw MillraceException.invalid(
              "Index out of range using input dim %d; input has only %d dims", dim, rank);
        }
        range(box, in, dim, i, begin, end, strides);
        if (!has(shrinks, i)) {
          out[n++] = box.dims[dim];
        }
        dim++;
      }
    }
    return new Box(box.begin, box.strides, box.dims, Shape.of(Arrays.copyOf(out, n)));
  }

  /** How many of the tensor's dimensions the entries after the ellipsis at {@code i} use up. */
  private int consumedAfter(int i, int entries) {
    int n = 0;
    for (int k = i + 1; k < entries; k++) {
      n += has(newAxes, k) ? 0 : 1;
    }
    return n;
  }

  private void range(Box box, Shape in, int dim, int i, Tensor begin, Tensor end, Tensor strides) {
    long size = in.dim(dim);
    long stride = strides.longAt(i);
    if (stride == 0) {
      throw MillraceException.invalid("strides[%d] must be non-zero", i);
    }
    box.strides[dim] = stride;
    boolean known = begin != null && end != null && size >= 0;
    if (has(shrinks, i)) {
      if (stride < 0) {
        throw MillraceException.invalid("only stride 1 allowed on non-range indexing.");
      }
      box.dims[dim] = 1;
      if (known) {
        long at = begin.longAt(i);
        box.begin[dim] = at < 0 ? at + size : at;
        if (box.begin[dim] < 0 || box.begin[dim] >= size) {
          throw MillraceException.invalid("slice index %d of dimension %d out of bounds.", at, dim);
        }
      }
      return;
    }
    long lowest = stride > 0 ? 0 : -1;
    long highest = stride > 0 ? size : size - 1;
    if (size >= 0 && has(begins, i) && has(ends, i)) {
      known = true;
    }
    if (!known) {
      box.dims[dim] = Shape.UNKNOWN;
      return;
    }
    long from =
        has(begins, i) ? (stride > 0 ? lowest : highest) : clamp(begin, i, size, lowest, highest);
    long to = has(ends, i) ? (stride > 0 ? highest : lowest) : clamp(end, i, size, lowest, highest);
    long length = stride > 0 ? to - from : from - to;
    long step = Math.abs(stride);
    box.begin[dim] = from;
    box.dims[dim] = length <= 0 ? 0 : (length - 1) / step + 1;
  }

  private static long clamp(Tensor bound, int i, long size, long lowest, long highest) {
    long at = bound.longAt(i);
    return Math.clamp(at < 0 ? at + size : at, lowest, highest);
  }

  private static void checkVectors(Tensor begin, Tensor end, Tensor strides) {
    Shape s = strides.shape();
    boolean agree =
        s.rank() == 1
            && s.dim(0) < 32
            && (begin == null || begin.shape().equals(s))
            && (end == null || end.shape().equals(s));
    if (!agree) {
      throw MillraceException.invalid(
          "begin, end and strides must be vectors of one length below 32; they have shapes %s, %s"
              + " and %s.",
          begin == null ? "<unknown>" : begin.shape(), end == null ? "<unknown>" : end.shape(), s);
    }
  }

  private static boolean has(int mask, int i) {
    return (mask >> i & 1) != 0;
  }
}
