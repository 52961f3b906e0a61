package dev.millrace.ops.random;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.GradientContext;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.ShapeContext;
import dev.millrace.ops.array.Axis;
import dev.millrace.ops.array.Concat;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.ExpandDims;
import dev.millrace.ops.array.Fill;
import dev.millrace.ops.array.Range;
import dev.millrace.ops.array.Reshape;
import dev.millrace.ops.array.ShapeOf;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.math.Reduction;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.Parallel;
import dev.millrace.tensor.math.random.GammaDraw;
import dev.millrace.tensor.math.random.Philox;
import dev.millrace.tensor.math.random.PoissonDraw;
import java.util.List;

/** Numbers of gamma and Poisson distributions: for each parameter a tensor of the shape given. */
public final class GammaPoisson {
  /** Draws the number that belongs to a parameter from its own part of a sequence. */
  private interface Draw {
    double from(Philox source, double parameter);
  }

  private static final String POSITIONS = "counts are piecewise constant";

  /** The ops that are loaded on demand. */
  public static final List<Op> ALL =
      List.of(
          stateful("RandomGamma")
              .attr("T: {half, float, double}")
              .input("shape: S")
              .input("alpha: T")
              .output("output: T")
              .kernelPerNode(node -> kernel(node, GammaDraw::from))
              .gradient(g -> gammaGradient(g, 1))
              .build(),
          stateful("RandomPoisson")
              .attr("dtype: {half, float, double}")
              .input("shape: S")
              .input("rate: dtype")
              .output("output: dtype")
              .kernelPerNode(node -> kernel(node, PoissonDraw::from))
              .noGradient(POSITIONS)
              .build(),
          stateful("RandomPoissonV2")
              .attr("R: {half, float, double, int32, int64} = double")
              .attr("dtype: {half, float, double, int32, int64} = int64")
              .input("shape: S")
              .input("rate: R")
              .output("output: dtype")
              .kernelPerNode(node -> kernel(node, PoissonDraw::from))
              .noGradient(POSITIONS)
              .build());

  private GammaPoisson() {}

  private static Op.Builder stateful(String name) {
    return Op.define(name)
        .attr("seed: int = 0")
        .attr("seed2: int = 0")
        .attr("S: {int32, int64}")
        .stateful()
        .shape(GammaPoisson::infer);
  }

  private static List<Shape> infer(ShapeContext c) {
    c.inputOfRank(0, 1);
    Shape first = c.constantAsShape(0);
    Shape parameters = c.input(1);
    return List.of(
        first.hasRank() && parameters.hasRank() ? first.concat(parameters) : Shape.unknown());
  }

  private static Kernel kernel(Node node, Draw draw) {
    SeededState state = new SeededState(node);
    return c -> fill(c, state, draw);
  }

  private static void fill(KernelContext c, SeededState state, Draw draw) {
    if (c.input(0).shape().rank() != 1) {
      throw MillraceException.invalid(
          "Input shape should have non-zero element count and be a vector, got: %s",
          c.input(0).shape());
    }
    Shape each = Axis.shape(c.input(0));
    Tensor parameters = c.input(1);
    Tensor out = c.allocate(0, each.concat(parameters.shape()));
    if (out.elements() == 0) {
      return;
    }
    long n = parameters.elements();
    long samples = each.elements();
    Philox sequence = state.take(out.elements() * SeededState.PER_ELEMENT);
    boolean isFloating = out.dtype().isFloating();
    Parallel.run(
        out.elements(),
        1 << 9,
        (from, to) -> {
          for (long i = from; i < to; i++) {
            // The samples of a parameter follow each other in the sequence, not in the tensor.
            long parameter = i / samples;
            double v =
                draw.from(
                    sequence.skipped(SeededState.PER_ELEMENT * i), parameters.doubleAt(parameter));
            long at = i % samples * n + parameter;
            if (isFloating) {
              out.setDouble(at, v);
            } else {
              out.setLong(at, (long) v);
            }
          }
        });
  }

  /** The slope of each sample by its parameter, summed over the samples. */
  private static void gammaGradient(GradientContext g, int parameter) {
    Scope s = g.scope();
    Output alpha = g.input(parameter);
    Output extra = ShapeOf.size(s, g.input(0));
    Output ones = Fill.of(s, ExpandDims.of(s, extra, 0), Const.of(s, 1));
    Output beside = Reshape.of(s, alpha, Concat.of(s, List.of(ones, ShapeOf.of(s, alpha)), 0));
    Output slope = s.node("RandomGammaGrad").input(beside).input(g.output(0)).add().output();
    Output sum = Reduction.sum(s, Arithmetic.mul(s, g.dy(), slope), Range.of(s, extra), false);
    g.dx(parameter, sum);
  }
}
