package dev.millrace.train.sync;

import dev.millrace.graph.Node;
import dev.millrace.graph.NodeBuilder;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.gradient.Grad;
import dev.millrace.ops.accumulator.AccumulatorOps;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Fill;
import dev.millrace.ops.math.Cast;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.variable.GraphVariable;

/** Where the gradients of one variable meet: an accumulator beside it, for whole ones or rows. */
record Accumulator(Scope scope, GraphVariable variable, Output handle, boolean ofRows) {
  /** Adds the accumulator, shared by all workers under TensorFlow's name for it. */
  static Accumulator of(Scope scope, GraphVariable v, Grad gradient) {
    String shared = v.handle().name() + "/grad_accum";
    if (gradient instanceof Grad.Dense) {
      Output handle =
          AccumulatorOps.of(
              scope.withName("conditional_accumulator"), v.dtype(), v.shape(), shared);
      return new Accumulator(scope, v, handle, false);
    }
    Output handle =
        scope
            .withName("sparse_conditional_accumulator")
            .node("SparseConditionalAccumulator")
            .attr("dtype", v.dtype())
            .attr("shape", Shape.scalar())
            .attr("shared_name", shared)
            .add()
            .output();
    return new Accumulator(scope, v, handle, true);
  }

  /** Adds a node that adds, after {@code before}, a gradient computed at {@code localStep}. */
  Node apply(Node before, Output localStep, Grad gradient) {
    Scope s = scope.withControlInputs(before);
    return switch (gradient) {
      case Grad.Dense d -> AccumulatorOps.apply(s, handle, localStep, d.value());
      case Grad.Rows r -> applyRows(s, localStep, r.indices(), r.values());
      case Grad.None n -> throw new IllegalArgumentException("no gradient");
    };
  }

  private Node applyRows(Scope s, Output localStep, Output indices, Output values) {
    NodeBuilder b =
        s.node("SparseAccumulatorApplyGradient")
            .input(handle)
            .input(localStep)
            .input(indices.dtype() == DType.INT64 ? indices : Cast.of(s, indices, DType.INT64))
            .input(values)
            .input(Const.of(s, Tensor.vector(new long[0])));
    return b.attr("has_known_shape", false).add();
  }

  /** Adds a node that adds a gradient of zeros, which counts but changes nothing. */
  Node applyZeros(Scope after, Output localStep) {
    Scope s = after.withDevice(variable.node().device());
    Output zero = Const.of(s, variable.dtype(), 0);
    if (!ofRows) {
      return AccumulatorOps.apply(s, handle, localStep, Fill.of(s, variable.shape(), zero));
    }
    Shape row = variable.shape().slice(1, variable.shape().rank());
    return applyRows(
        s, localStep, Const.of(s, Tensor.vector(0L)), Fill.of(s, Shape.of(1).concat(row), zero));
  }

  /** Adds a node that waits for {@code required} gradients, and gives their average. */
  Grad take(Output required) {
    Node taken = taking(scope, required);
    return ofRows
        ? new Grad.Rows(taken.output(1), taken.output(0), taken.output(2))
        : new Grad.Dense(taken.output(0));
  }

  private Node taking(Scope s, Output required) {
    return ofRows
        ? s.node("SparseAccumulatorTakeGradient")
            .input(handle)
            .input(required)
            .attr("dtype", variable.dtype())
            .add()
        : AccumulatorOps.take(s, handle, required, variable.dtype()).node();
  }

  /**
   * Adds a node that empties it. It waits while a take of an earlier chief is under way: it adds
   * zeros, late or not, and takes them with all that was there, in its turn.
   */
  Node flush() {
    Node zeros = applyZeros(scope, Const.of(scope, Long.MAX_VALUE));
    return taking(scope.withControlInputs(zeros), Const.of(scope, 1));
  }

  /** Adds a node that says, after {@code before}, which step it is. */
  Node setGlobalStep(Node before, Output step) {
    return AccumulatorOps.setGlobalStep(
        scope.withControlInputs(before).withName("SetGlobalStep"), handle, step);
  }
}
