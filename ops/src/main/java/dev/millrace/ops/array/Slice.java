package dev.millrace.ops.array;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.GradientContext;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.ShapeContext;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.StridedCopy;
import java.util.Arrays;
import java.util.List;

/** The box of elements that begins at {@code begin}; a size of -1 reaches to the end. */
public final class Slice {
  public static final Op OP =
      Op.define("Slice")
          .attr("T: type")
          .attr("Index: {int32, int64}")
          .input("input: T")
          .input("begin: Index")
          .input("size: Index")
          .output("output: T")
          .shape(Slice::infer)
          .kernel(Slice::compute)
          .gradient(Slice::gradient)
          .build();

  private Slice() {}

  /**
   * The part of {@code input} from {@code begin} on, of {@code size}; -1 is all that is left of a
   * dimension.
   */
  public static Output of(Scope scope, Output input, Output begin, Output size) {
    return scope.add(OP, input, begin, size).output();
  }

  /** A box fixed now; both arrays have one entry per dimension. */
  public static Output of(Scope scope, Output input, int[] begin, int[] size) {
    return of(scope, input, Const.ints(scope, begin), Const.ints(scope, size));
  }

  private static List<Shape> infer(ShapeContext c) {
    Shape in = c.input(0);
    Tensor begin = c.constant(1);
    Tensor size = c.constant(2);
    if (begin != null && size != null && in.hasRank()) {
      check(in, begin, size);
      long[] d = size.toLongs();
      for (int i = 0; i < d.length; i++) {
        long b = begin.longAt(i);
        if (d[i] == -1) {
          d[i] = in.dim(i) < 0 ? -1 : in.dim(i) - b;
        }
        checkBounds(in, i, b, d[i]);
      }
      return List.of(Shape.of(d));
    }
    // An unknown size may also be a -1; either way the dimension is not known.
    Shape s = c.constantAsShape(2);
    return List.of(s.hasRank() || !in.hasRank() ? s : Shape.unknownOfRank(in.rank()));
  }

  private static void check(Shape in, Tensor begin, Tensor size) {
    if (begin.shape().rank() != 1
        || size.shape().rank() != 1
        || begin.elements() != in.rank()
        || size.elements() != in.rank()) {
      throw MillraceException.invalid(
          "begin and size must be vectors of length %d, the rank of the input; they have shapes %s"
              + " and %s.",
          in.rank(), begin.shape(), size.shape());
    }
  }

  private static void checkBounds(Shape in, int i, long begin, long size) {
    if (begin < 0 || (in.dim(i) >= 0 && begin > in.dim(i))) {
      throw MillraceException.invalid(
          "Expected begin[%d] in [0, %d], but got %d", i, in.dim(i), begin);
    }
    if (size < -1 || (in.dim(i) >= 0 && size > in.dim(i) - begin)) {
      throw MillraceException.invalid(
          "Expected size[%d] in [0, %d], but got %d", i, in.dim(i) - begin, size);
    }
  }

  private static void compute(KernelContext c) {
    Tensor x = c.input(0);
    Shape in = x.shape();
    Tensor begin = c.input(1);
    Tensor size = c.input(2);
    check(in, begin, size);
    long[] d = new long[in.rank()];
    long[] strides = StridedCopy.rowMajor(in.dims());
    long start = 0;
    for (int i = 0; i < d.length; i++) {
      long b = begin.longAt(i);
      long n = size.longAt(i);
      checkBounds(in, i, b, n);
      d[i] = n == -1 ? in.dim(i) - b : n;
      start += b * strides[i];
    }
    Shape out = Shape.of(d);
    if (out.equals(in)) {
      c.output(0, Refs.retain(x));
      return;
    }
    Tensor y = c.allocate(0, out);
    StridedCopy.copy(d, x, start, strides, y, 0, StridedCopy.rowMajor(d));
  }

  /** Pads the gradient with zeros to where it was cut out. */
  private static void gradient(GradientContext g) {
    Scope s = g.scope();
    Output x = g.input(0);
    DType index = g.input(1).dtype();
    Output whole = shape(s, x, index);
    Output part = shape(s, g.output(0), index);
    Output after = MathNodes.sub(s, MathNodes.sub(s, whole, part), g.input(1));
    Output paddings = Pack.of(s, Arrays.asList(g.input(1), after), 1);
    Output dx = Pad.of(s, g.dy(), paddings);
    dx.refineShape(x.shape());
    g.dx(0, dx);
  }

  private static Output shape(Scope s, Output x, DType type) {
    return s.node(ShapeOf.OP).input(x).attr("out_type", type).add().output();
  }
}
