package dev.millrace.ops.fourier;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.GradientContext;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.ShapeContext;
import dev.millrace.ops.array.Concat;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Pack;
import dev.millrace.ops.array.Pad;
import dev.millrace.ops.array.Range;
import dev.millrace.ops.array.ShapeOf;
import dev.millrace.ops.array.StridedSlice;
import dev.millrace.ops.array.ZerosLike;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.math.Cast;
import dev.millrace.ops.math.Comparisons;
import dev.millrace.ops.math.ComplexParts;
import dev.millrace.ops.math.Reduction;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.Parallel;
import dev.millrace.tensor.math.complex.Complex;
import dev.millrace.tensor.math.complex.ComplexElements;
import dev.millrace.tensor.math.complex.FourierBlock;
import java.util.List;

/**
 * Transforms of real numbers along the last dimensions, and back to them. Of the result only the
 * first half of the last dimension is there: the rest would be its conjugate. {@code fft_length}
 * has the lengths that are transformed, the first elements of each dimension.
 */
final class RealTransform {
  static final List<Op> ALL =
      List.of(
          define("RFFT", 1, true),
          define("IRFFT", 1, false),
          define("RFFT2D", 2, true),
          define("IRFFT2D", 2, false),
          define("RFFT3D", 3, true),
          define("IRFFT3D", 3, false));

  private RealTransform() {}

  private static Op define(String name, int rank, boolean forward) {
    return Op.define(name)
        .attr("Treal: {float, double} = float")
        .attr("Tcomplex: {complex64, complex128} = complex64")
        .input(forward ? "input: Treal" : "input: Tcomplex")
        .input("fft_length: int32")
        .output(forward ? "output: Tcomplex" : "output: Treal")
        .shape(c -> List.of(infer(c, rank, forward)))
        .kernel(c -> compute(c, rank, forward))
        .gradient(g -> gradient(g, rank, forward))
        .build();
  }

  private static Shape infer(ShapeContext c, int rank, boolean forward) {
    Shape in = c.input(0);
    ComplexTransform.checkRank(in, rank);
    Shape lengths = c.inputOfRank(1, 1);
    if (lengths.dim(0) >= 0 && lengths.dim(0) != rank) {
      throw MillraceException.invalid(
          "fft_length must have %d elements, one for each dimension; it has shape %s.",
          rank, lengths);
    }
    if (!in.hasRank()) {
      return in;
    }
    Tensor known = c.constant(1);
    Shape outer = in.slice(0, in.rank() - rank);
    return known == null
        ? outer.concat(Shape.unknownOfRank(rank))
        : outer.concat(Shape.of(result(known, rank, forward)));
  }

  /** The last dimensions of the result. */
  private static long[] result(Tensor lengths, int rank, boolean forward) {
    if (lengths.shape().rank() != 1 || lengths.elements() != rank) {
      throw MillraceException.invalid("fft_length must have shape [%d]", rank);
    }
    long[] dims = lengths.toLongs();
    for (long d : dims) {
      if (d < 0) {
        throw MillraceException.invalid("fft_length must be non-negative, but it has %d", d);
      }
    }
    if (forward && dims[rank - 1] != 0) {
      dims[rank - 1] = dims[rank - 1] / 2 + 1;
    }
    return dims;
  }

  private static void compute(KernelContext c, int rank, boolean forward) {
    Tensor x = c.input(0);
    ComplexTransform.checkRank(x.shape(), rank);
    Shape result = Shape.of(result(c.input(1), rank, forward));
    int[] dims = c.input(1).toInts();
    int[] given = ComplexTransform.last(x.shape(), rank);
    for (int i = 0; i < rank; i++) {
      int least = !forward && i == rank - 1 ? dims[i] / 2 + 1 : dims[i];
      if (given[i] != 0 && given[i] < least) {
        throw MillraceException.invalid(
            "Input dimension %d must have length of at least %d but got: %d",
            x.shape().rank() - rank + i, least, given[i]);
      }
    }
    Tensor y = c.allocate(0, x.shape().slice(0, x.shape().rank() - rank).concat(result));
    if (x.elements() == 0 || y.elements() == 0) {
      ZerosLike.clear(y);
      return;
    }
    int[] to = ComplexTransform.last(y.shape(), rank);
    int[] half = forward ? dims : dims.clone();
    if (!forward) {
      half[rank - 1] = dims[rank - 1] / 2 + 1;
    }
    Parallel.run(
        y.elements() / ComplexTransform.size(to),
        1,
        (first, last) -> {
          for (long b = first; b < last; b++) {
            FourierBlock block = new FourierBlock(dims);
            read(x, b * ComplexTransform.size(given), given, half, block, dims);
            if (forward) {
              block.forward();
            } else {
              block.backwardToReal();
            }
            write(block, dims, y, b * ComplexTransform.size(to), to);
          }
        });
  }

  /** Reads the first {@code taken} of the dimensions {@code given} into the block. */
  private static void read(
      Tensor x, long at, int[] given, int[] taken, FourierBlock block, int[] dims) {
    for (int i = 0; i < ComplexTransform.size(taken); i++) {
      long from = at + place(i, taken, given);
      Complex v =
          x.dtype().isComplex()
              ? ComplexElements.at(x.dtype(), x.data(), from)
              : new Complex(x.doubleAt(from), 0);
      block.set(place(i, taken, dims), v);
    }
  }

  private static void write(FourierBlock block, int[] dims, Tensor y, long at, int[] to) {
    for (int i = 0; i < ComplexTransform.size(to); i++) {
      Complex v = block.get(place(i, to, dims));
      if (y.dtype().isComplex()) {
        ComplexElements.set(y.dtype(), y.data(), at + i, v);
      } else {
        y.setDouble(at + i, v.re());
      }
    }
  }

  /** Where element {@code i} of a block of dimensions {@code part} is in one of {@code whole}. */
  private static int place(int i, int[] part, int[] whole) {
    int at = 0;
    int step = 1;
    for (int d = part.length - 1; d >= 0; d--) {
      at += i % part[d] * step;
      i /= part[d];
      step *= whole[d];
    }
    return at;
  }

  private static void gradient(GradientContext g, int rank, boolean forward) {
    Scope s = g.scope();
    Output lengths = g.input(1);
    Output all = Reduction.of(s, Reduction.PROD, lengths, ComplexTransform.axis(s), false);
    Output dx = forward ? ofForward(g, rank, all) : ofBackward(g, rank, all);
    Output grown = grown(s, dx, ShapeOf.of(s, g.input(0)));
    grown.refineShape(g.input(0).shape());
    g.dx(0, grown);
  }

  /** The half that is there, followed by zeros, transformed back without dividing. */
  private static Output ofForward(GradientContext g, int rank, Output all) {
    Scope s = g.scope();
    Output shape = ShapeOf.of(s, g.dy());
    Output outer = StridedSlice.range(s, shape, null, -1);
    Output length = StridedSlice.range(s, g.input(1), -1, null);
    Output whole = grown(s, g.dy(), Concat.of(s, List.of(outer, length), 0));
    Output back = ComplexParts.real(s, ComplexTransform.of(s, rank, false, whole));
    return Arithmetic.mul(s, back, Cast.of(s, all, back.dtype()));
  }

  /** The transform, twice where an element of the half stands for its conjugate too. */
  private static Output ofBackward(GradientContext g, int rank, Output all) {
    Scope s = g.scope();
    DType type = g.input(0).dtype();
    String name = rank == 1 ? "RFFT" : "RFFT" + rank + "D";
    Output y = s.node(name).input(g.dy()).input(g.input(1)).attr("Tcomplex", type).add().output();
    Output length = StridedSlice.at(s, g.input(1), -1);
    Output half = Arithmetic.floorDiv(s, length, Const.of(s, 2));
    Output k = Range.of(s, Arithmetic.add(s, half, Const.of(s, 1)));
    Output first = Cast.of(s, Comparisons.equal(s, k, Const.of(s, 0)), DType.INT32);
    Output twice = Arithmetic.add(s, k, k);
    Output middle = Cast.of(s, Comparisons.equal(s, twice, length), DType.INT32);
    Output weights = Arithmetic.sub(s, Arithmetic.sub(s, Const.of(s, 2), first), middle);
    Output weighted = Arithmetic.mul(s, y, Cast.of(s, weights, type));
    return Arithmetic.realDiv(s, weighted, Cast.of(s, all, type));
  }

  /** {@code x} with zeros after its elements, up to {@code shape}. */
  private static Output grown(Scope s, Output x, Output shape) {
    Output after = Arithmetic.sub(s, shape, ShapeOf.of(s, x));
    Output before = ZerosLike.of(s, after);
    Output rows = Pack.of(s, List.of(before, after), 1);
    return Pad.of(s, x, rows);
  }
}
