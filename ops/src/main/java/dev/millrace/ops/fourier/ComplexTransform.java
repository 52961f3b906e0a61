package dev.millrace.ops.fourier;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.GradientContext;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.ShapeContext;
import dev.millrace.ops.array.ShapeOf;
import dev.millrace.ops.array.StridedSlice;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.math.Cast;
import dev.millrace.ops.math.Reduction;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.Parallel;
import dev.millrace.tensor.math.complex.ComplexElements;
import dev.millrace.tensor.math.complex.FourierBlock;
import java.util.List;

/** Transforms of complex numbers along the last one, two or three dimensions. */
final class ComplexTransform {
  static final List<Op> ALL =
      List.of(
          define("FFT", 1, true),
          define("IFFT", 1, false),
          define("FFT2D", 2, true),
          define("IFFT2D", 2, false),
          define("FFT3D", 3, true),
          define("IFFT3D", 3, false));

  private ComplexTransform() {}

  private static Op define(String name, int rank, boolean forward) {
    return Op.define(name)
        .attr("Tcomplex: {complex64, complex128} = complex64")
        .input("input: Tcomplex")
        .output("output: Tcomplex")
        .shape(c -> infer(c, rank))
        .kernel(c -> compute(c, rank, forward))
        .gradient(g -> gradient(g, rank, forward))
        .build();
  }

  private static List<Shape> infer(ShapeContext c, int rank) {
    checkRank(c.input(0), rank);
    return List.of(c.input(0));
  }

  static void checkRank(Shape s, int rank) {
    if (s.hasRank() && s.rank() < rank) {
      throw MillraceException.invalid("Input must have rank of at least %d but got: %s", rank, s);
    }
  }

  private static void compute(KernelContext c, int rank, boolean forward) {
    Tensor x = c.input(0);
    checkRank(x.shape(), rank);
    Tensor y = c.allocate(0, x.shape());
    if (x.elements() == 0) {
      return;
    }
    int[] dims = last(x.shape(), rank);
    DType type = x.dtype();
    int size = size(dims);
    Parallel.run(
        x.elements() / size,
        1 + (1 << 12) / size,
        (from, to) -> {
          FourierBlock block = new FourierBlock(dims);
          for (long b = from; b < to; b++) {
            for (int i = 0; i < size; i++) {
              block.set(i, ComplexElements.at(type, x.data(), b * size + i));
            }
            if (forward) {
              block.forward();
            } else {
              block.backward();
            }
            for (int i = 0; i < size; i++) {
              ComplexElements.set(type, y.data(), b * size + i, block.get(i));
            }
          }
        });
  }

  /** The last dimensions of a shape. */
  static int[] last(Shape s, int rank) {
    int[] dims = new int[rank];
    for (int i = 0; i < rank; i++) {
      dims[i] = Math.toIntExact(s.dim(i - rank));
    }
    return dims;
  }

  static int size(int[] dims) {
    int n = 1;
    for (int d : dims) {
      n = Math.multiplyExact(n, d);
    }
    return n;
  }

  /** The other direction, which divides by the number of elements where this one does not. */
  private static void gradient(GradientContext g, int rank, boolean forward) {
    Scope s = g.scope();
    Output dx = of(s, rank, !forward, g.dy());
    Output shape = ShapeOf.of(s, g.dy());
    Output sizes = StridedSlice.range(s, shape, -rank, null);
    Output count = Cast.of(s, Reduction.of(s, Reduction.PROD, sizes, axis(s), false), dx.dtype());
    g.dx(0, forward ? Arithmetic.mul(s, dx, count) : Arithmetic.realDiv(s, dx, count));
  }

  static Output of(Scope s, int rank, boolean forward, Output x) {
    String name = (forward ? "FFT" : "IFFT") + (rank == 1 ? "" : rank + "D");
    return s.node(name).input(x).add().output();
  }

  /** The one dimension of a vector. */
  static Output axis(Scope s) {
    return dev.millrace.ops.array.Const.ints(s, 0);
  }
}
