package dev.millrace.ops.array;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.ShapeContext;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.StridedCopy;
import java.util.List;

/** Dimension i of the result is dimension {@code perm[i]} of the input. */
public final class Transpose {
  public static final Op OP =
      Op.define("Transpose")
          .attr("T: type")
          .attr("Tperm: {int32, int64} = int32")
          .input("x: T")
          .input("perm: Tperm")
          .output("y: T")
          .shape(Transpose::infer)
          .kernel(Transpose::compute)
          .gradient(g -> g.dx(0, of(g.scope(), g.dy(), invert(g.scope(), g.input(1)))))
          .build();

  /** The permutation that undoes one. */
  public static final Op INVERT =
      Op.define("InvertPermutation")
          .attr("T: {int32, int64} = int32")
          .input("x: T")
          .output("y: T")
          .shape(c -> List.of(c.inputOfRank(0, 1)))
          .kernel(
              c -> {
                Tensor x = c.input(0);
                long[] perm = permutation(x, x.elements(), false);
                Tensor y = c.allocate(0, x.shape());
                for (int i = 0; i < perm.length; i++) {
                  y.setLong(perm[i], i);
                }
              })
          .noGradient("a permutation has no gradient")
          .build();

  private Transpose() {}

  /** {@code x} with its dimensions in the order {@code perm}. */
  public static Output of(Scope scope, Output x, Output perm) {
    return scope.add(OP, x, perm).output();
  }

  /** Adds the transpose with a constant permutation. */
  public static Output of(Scope scope, Output x, int... perm) {
    return of(scope, x, Const.ints(scope, perm));
  }

  /** The permutation that undoes {@code perm}. */
  public static Output invert(Scope scope, Output perm) {
    return scope.add(INVERT, perm).output();
  }

  /** The shape of a tensor whose dimensions are permuted. */
  public static List<Shape> infer(ShapeContext c) {
    Shape in = c.input(0);
    Shape p = c.input(1);
    if (p.hasRank() && p.rank() != 1) {
      throw MillraceException.invalid("perm must be a vector; it has shape %s.", p);
    }
    Tensor perm = c.constant(1);
    if (perm == null) {
      int rank = in.hasRank() ? in.rank() : p.hasRank() ? Math.toIntExact(p.dim(0)) : -1;
      return List.of(rank < 0 ? Shape.unknown() : Shape.unknownOfRank(rank));
    }
    if (!in.hasRank()) {
      return List.of(Shape.unknownOfRank(Math.toIntExact(perm.elements())));
    }
    return List.of(permuted(in, permutation(perm, in.rank(), true)));
  }

  /** The entries of {@code t}, which must be each of 0 to {@code n - 1} once. */
  private static long[] permutation(Tensor t, long n, boolean fromEnd) {
    if (t.shape().rank() != 1 || t.elements() != n) {
      throw MillraceException.invalid(
          "perm must be a vector of length %d; it has shape %s.", n, t.shape());
    }
    long[] perm = t.toLongs();
    boolean[] seen = new boolean[perm.length];
    for (int i = 0; i < perm.length; i++) {
      long p = fromEnd && perm[i] < 0 ? perm[i] + n : perm[i];
      if (p < 0 || p >= n || seen[(int) p]) {
        throw MillraceException.invalid(
            "%s is not a permutation of 0 to %d.", java.util.Arrays.toString(t.toLongs()), n - 1);
      }
      seen[(int) p] = true;
      perm[i] = p;
    }
    return perm;
  }

  private static Shape permuted(Shape in, long[] perm) {
    long[] d = new long[perm.length];
    for (int i = 0; i < d.length; i++) {
      d[i] = in.dim((int) perm[i]);
    }
    return Shape.of(d);
  }

  /** The kernel: input 0 with its dimensions in the order of input 1. */
  public static void compute(KernelContext c) {
    c.output(0, permuted(c.input(0), c.input(1)));
  }

  /** A counted tensor: {@code x} with its dimensions in the order {@code order}. */
  public static Tensor permuted(Tensor x, Tensor order) {
    Shape in = x.shape();
    long[] perm = permutation(order, in.rank(), true);
    Shape out = permuted(in, perm);
    if (keepsOrder(in, perm)) {
      return Refs.reshaped(x, out);
    }
    Tensor y = Refs.allocate(x.dtype(), out);
    long[] rows = StridedCopy.rowMajor(in.dims());
    long[] src = new long[perm.length];
    for (int i = 0; i < src.length; i++) {
      src[i] = rows[(int) perm[i]];
    }
    StridedCopy.copy(out.dims(), x, 0, src, y, 0, StridedCopy.rowMajor(out.dims()));
    return y;
  }

  /** Whether only dimensions of 1 change places. */
  private static boolean keepsOrder(Shape in, long[] perm) {
    long last = -1;
    for (long p : perm) {
      if (in.dim((int) p) != 1) {
        if (p < last) {
          return false;
        }
        last = p;
      }
    }
    return true;
  }
}
