package dev.millrace.ops.text;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.ShapeContext;
import dev.millrace.ops.array.Axis;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** Strings of one tensor joined: along dimensions, or by the segment they belong to. */
final class JoinedText {
  static final Op REDUCE =
      Words.define("ReduceJoin")
          .attr("keep_dims: bool = false")
          .attr("separator: string = ''")
          .input("inputs: string")
          .input("reduction_indices: int32")
          .output("output: string")
          .shape(JoinedText::infer)
          .kernelPerNode(JoinedText::reduce)
          .build();

  static final Op SEGMENTS =
      Words.define("UnsortedSegmentJoin")
          .attr("separator: string = ''")
          .attr("Tindices: {int32, int64}")
          .attr("Tnumsegments: {int32, int64} = int32")
          .input("inputs: string")
          .input("segment_ids: Tindices")
          .input("num_segments: Tnumsegments")
          .output("output: string")
          .shape(
              c -> {
                Shape ids = c.input(1);
                Shape in = c.input(0);
                Tensor n = c.constant(2);
                if (!ids.hasRank() || !in.hasRank() || in.rank() < ids.rank()) {
                  return List.of(Shape.unknown());
                }
                return List.of(
                    Shape.of(n == null ? Shape.UNKNOWN : n.longAt(0))
                        .concat(in.slice(ids.rank(), in.rank())));
              })
          .kernelPerNode(JoinedText::segments)
          .build();

  static final List<Op> ALL = List.of(REDUCE, SEGMENTS);

  private JoinedText() {}

  private static List<Shape> infer(ShapeContext c) {
    Tensor along = c.constant(1);
    boolean keepDims = c.node().booleanAttr("keep_dims");
    if (along == null || !c.input(0).hasRank()) {
      boolean isOfRank = keepDims && c.input(0).hasRank();
      return List.of(isOfRank ? Shape.unknownOfRank(c.input(0).rank()) : Shape.unknown());
    }
    return List.of(reduced(c.input(0), axes(along, c.input(0).rank()), keepDims));
  }

  private static List<Integer> axes(Tensor along, int rank) {
    List<Integer> axes = new ArrayList<>();
    for (long a : along.toLongs()) {
      if (a < -rank || a >= rank) {
        throw new MillraceException(
            Code.OUT_OF_RANGE,
            "Invalid reduction dimension %d for input with %d dimension(s)".formatted(a, rank));
      }
      int axis = (int) (a < 0 ? a + rank : a);
      if (axes.contains(axis)) {
        throw MillraceException.invalid("Duplicate reduction dimension %d", axis);
      }
      axes.add(axis);
    }
    return axes;
  }

  private static Shape reduced(Shape s, List<Integer> axes, boolean keepDims) {
    List<Long> dims = new ArrayList<>();
    for (int i = 0; i < s.rank(); i++) {
      if (!axes.contains(i)) {
        dims.add(s.dim(i));
      } else if (keepDims) {
        dims.add(1L);
      }
    }
    return Shape.of(dims.stream().mapToLong(d -> d).toArray());
  }

  private static Kernel reduce(Node node) {
    boolean keepDims = node.booleanAttr("keep_dims");
    byte[] separator = Words.bytes(node.stringAttr("separator"));
    return c -> {
      Tensor in = c.input(0);
      Shape s = in.shape();
      if (c.input(1).shape().rank() > 1) {
        throw MillraceException.invalid(
            "reduction_indices must be a scalar or a vector, got shape %s", c.input(1).shape());
      }
      List<Integer> axes = axes(c.input(1), s.rank());
      long[] strides = new long[s.rank()];
      long stride = 1;
      for (int i = s.rank() - 1; i >= 0; i--) {
        strides[i] = stride;
        stride *= s.dim(i);
      }
      // The dimension named first is gone through first.
      long[] inner = offsets(s, strides, axes);
      List<Integer> others = new ArrayList<>();
      for (int i = s.rank() - 1; i >= 0; i--) {
        if (!axes.contains(i)) {
          others.add(i);
        }
      }
      long[] outer = offsets(s, strides, others);
      Object[] joined = new Object[outer.length];
      for (int i = 0; i < joined.length; i++) {
        List<byte[]> parts = new ArrayList<>();
        for (long offset : inner) {
          parts.add(in.bytesAt(outer[i] + offset));
        }
        joined[i] = join(parts, separator);
      }
      c.output(0, Refs.ofObjects(DType.STRING, reduced(s, axes, keepDims), joined));
    };
  }

  /** Where the elements are that differ in these dimensions, the first of which changes fastest. */
  private static long[] offsets(Shape s, long[] strides, List<Integer> axes) {
    int count = 1;
    for (int axis : axes) {
      count = Math.toIntExact(count * s.dim(axis));
    }
    long[] offsets = new long[count];
    for (int i = 0; i < count; i++) {
      long rest = i;
      for (int axis : axes) {
        offsets[i] += rest % s.dim(axis) * strides[axis];
        rest /= s.dim(axis);
      }
    }
    return offsets;
  }

  private static byte[] join(List<byte[]> parts, byte[] separator) {
    ByteArrayOutputStream s = new ByteArrayOutputStream();
    for (int i = 0; i < parts.size(); i++) {
      if (i > 0) {
        s.writeBytes(separator);
      }
      s.writeBytes(parts.get(i));
    }
    return s.toByteArray();
  }

  private static Kernel segments(Node node) {
    byte[] separator = Words.bytes(node.stringAttr("separator"));
    return c -> {
      Tensor in = c.input(0);
      Tensor ids = c.input(1);
      Shape s = in.shape();
      Shape prefix = ids.shape();
      if (prefix.rank() == 0) {
        throw MillraceException.invalid("segment_ids cannot have rank 0");
      }
      if (s.rank() < prefix.rank() || !s.slice(0, prefix.rank()).equals(prefix)) {
        throw MillraceException.invalid(
            "segment_ids' shape %s is not a prefix of that of the inputs, %s", prefix, s);
      }
      long n = Axis.single(c.input(2), "num_segments");
      if (n <= 0) {
        throw MillraceException.invalid("Number of segments must be positive; it is %d", n);
      }
      Shape row = s.slice(prefix.rank(), s.rank());
      int length = Math.toIntExact(row.elements());
      List<List<byte[]>> parts = new ArrayList<>(Collections.nCopies((int) n * length, null));
      for (long i = 0; i < in.elements(); i++) {
        long id = ids.longAt(i / length);
        if (id < 0 || id >= n) {
          throw MillraceException.invalid(
              "segment_ids must be from 0 to below num_segments, %d; there is %d", n, id);
        }
        int at = Math.toIntExact(id * length + i % length);
        if (parts.get(at) == null) {
          parts.set(at, new ArrayList<>());
        }
        parts.get(at).add(in.bytesAt(i));
      }
      Object[] joined =
          parts.stream().map(p -> p == null ? new byte[0] : join(p, separator)).toArray();
      c.output(0, Refs.ofObjects(DType.STRING, Shape.of(n).concat(row), joined));
    };
  }
}
