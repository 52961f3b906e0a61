package dev.millrace.ops.random;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Axis;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.random.Philox;
import dev.millrace.tensor.math.random.RandomFill;
import java.util.List;

/** Random numbers that depend on nothing but a seed given as a tensor of two integers. */
public final class StatelessRandom {
  public static final Op UNIFORM = define("StatelessRandomUniform", RandomFill::uniform);
  public static final Op NORMAL = define("StatelessRandomNormal", RandomFill::normal);
  public static final Op TRUNCATED_NORMAL =
      define("StatelessTruncatedNormal", RandomFill::truncatedNormal);

  private StatelessRandom() {}

  private static Op define(String name, RandomNumbers.Distribution d) {
    return Op.define(name)
        .attr("dtype: {half, bfloat16, float, double} = float")
        .attr("T: {int32, int64} = int32")
        .attr("Tseed: {int32, int64} = int64")
        .input("shape: T")
        .input("seed: Tseed")
        .output("output: dtype")
        .shape(
            c -> {
              c.inputOfRank(0, 1);
              c.inputOfRank(1, 1).mergeWith(Shape.of(2));
              return List.of(c.constantAsShape(0));
            })
        .kernel(
            c -> {
              Tensor seed = c.input(1);
              if (!seed.shape().equals(Shape.of(2))) {
                throw MillraceException.invalid("seed must have shape [2], not %s", seed.shape());
              }
              Tensor y = c.allocate(0, Axis.shape(c.input(0)));
              d.fill(Philox.ofMixedSeeds(seed.longAt(0), seed.longAt(1)), y);
            })
        .noGradient("random numbers depend on nothing but the seed")
        .build();
  }

  /** Adds {@code op}, one of this class. */
  public static Output of(Scope scope, Op op, DType dtype, Output shape, Output seed) {
    return scope.node(op).input(shape).input(seed).attr("dtype", dtype).add().output();
  }
}
