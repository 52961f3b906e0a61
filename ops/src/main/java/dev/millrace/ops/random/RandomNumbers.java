package dev.millrace.ops.random;

import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Axis;
import dev.millrace.ops.array.Const;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.random.Philox;
import dev.millrace.tensor.math.random.RandomFill;
import java.util.List;

/** Tensors of independent floating-point numbers from one distribution, new ones on every run. */
public final class RandomNumbers {
  /** From 0 (inclusive) to 1 (exclusive). */
  public static final Op UNIFORM = define("RandomUniform", RandomFill::uniform);

  /** Mean 0, deviation 1. */
  public static final Op NORMAL = define("RandomStandardNormal", RandomFill::normal);

  /** Normal, with values more than two deviations out drawn again. */
  public static final Op TRUNCATED_NORMAL = define("TruncatedNormal", RandomFill::truncatedNormal);

  /** Fills a tensor from a part of a sequence. */
  interface Distribution {
    void fill(Philox source, Tensor out);
  }

  private RandomNumbers() {}

  private static Op define(String name, Distribution d) {
    return Op.define(name)
        .attr("seed: int = 0")
        .attr("seed2: int = 0")
        .attr("dtype: {half, bfloat16, float, double}")
        .attr("T: {int32, int64}")
        .input("shape: T")
        .output("output: dtype")
        .stateful()
        .shape(
            c -> {
              c.inputOfRank(0, 1);
              return List.of(c.constantAsShape(0));
            })
        .kernelPerNode(
            node -> {
              SeededState state = new SeededState(node);
              return c -> {
                Shape s = Axis.shape(c.input(0));
                Tensor y = c.allocate(0, s);
                d.fill(state.take(s.elements() * SeededState.PER_ELEMENT), y);
              };
            })
        .noGradient("random numbers depend on nothing but the seed")
        .build();
  }

  /** Adds {@code op}, one of this class, with TensorFlow's two seeds; both 0 for none. */
  public static Output of(Scope scope, Op op, DType dtype, Output shape, long seed, long seed2) {
    return scope
        .node(op)
        .input(shape)
        .attr("dtype", dtype)
        .attr("seed", seed)
        .attr("seed2", seed2)
        .add()
        .output();
  }

  /**
   * Random numbers of {@code shape}, of the distribution {@code op} has. Two seeds of 0 are new in
   * every session; others give the same sequence each time.
   */
  public static Output of(Scope scope, Op op, DType dtype, Shape shape, long seed, long seed2) {
    return of(scope, op, dtype, Const.dims(scope, shape), seed, seed2);
  }
}
