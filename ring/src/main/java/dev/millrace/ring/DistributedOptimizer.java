package dev.millrace.ring;

import dev.millrace.base.MillraceException;
import dev.millrace.collective.Ring;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.train.optimizer.GradientAndVariable;
import dev.millrace.train.optimizer.Minimizer;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Variables;
import java.util.List;

/**
 * An optimizer that works with the average of all ranks' gradients. Ranks that start with the same
 * variables (see {@link VariableBroadcast}) keep the same variables, to the bit, and together train
 * as one process would with their batches put together.
 *
 * <p>Gradients are reduced as the backward pass yields them, several at a time, while the rest of
 * it still runs. Those of rows, as of embeddings, are gathered instead.
 *
 * <p>The learning rate is the wrapped optimizer's own; for larger joint batches see {@link
 * LearningRateScaling}.
 */
public final class DistributedOptimizer implements Minimizer {
  private final Ring ring;
  private final Minimizer optimizer;
  private final Compression compression;
  private final PassAccumulator passes;
  private final boolean overlap;

  /** The sums that {@link #applyGradients} resets; set by {@link #computeGradients}. */
  private PassAccumulator.Accumulated sums;

  /** Wraps {@code optimizer}. */
  public DistributedOptimizer(Ring ring, Minimizer optimizer) {
    this(ring, optimizer, Compression.NONE, null, true);
  }

  private DistributedOptimizer(
      Ring ring,
      Minimizer optimizer,
      Compression compression,
      PassAccumulator passes,
      boolean overlap) {
    this.ring = ring;
    this.optimizer = optimizer;
    this.compression = compression;
    this.passes = passes;
    this.overlap = overlap;
  }

  /** The same, with gradients that travel in another type. */
  public DistributedOptimizer withCompression(Compression c) {
    return new DistributedOptimizer(ring, optimizer, c, passes, overlap);
  }

  /**
   * The same, with {@code count} backward passes per step: gradients add up on each rank, and every
   * so many runs of the train node they are reduced and applied, their sum or, with {@code
   * average}, their average. The sums are local variables, which must be initialised too.
   */
  public DistributedOptimizer withBackwardPassesPerStep(int count, boolean average) {
    if (count < 1) {
      throw MillraceException.invalid("There must be 1 or more backward passes, not %d.", count);
    }
    PassAccumulator p = count == 1 ? null : new PassAccumulator(count, average);
    return new DistributedOptimizer(ring, optimizer, compression, p, overlap);
  }

  /**
   * The same, reducing nothing before the whole backward pass is done: to see what overlap gains.
   */
  public DistributedOptimizer withoutOverlap() {
    return new DistributedOptimizer(ring, optimizer, compression, passes, false);
  }

  /**
   * Adds all that one step needs; without {@code globalStep} (null) none is counted. Gradients are
   * reduced in one sequence, as every step computes all of them.
   */
  @Override
  public Node minimize(Scope scope, Output loss, GraphVariable globalStep) {
    List<GradientAndVariable> own =
        optimizer.computeGradients(scope, loss, Variables.trainable(scope.graph()));
    return applyGradients(scope, exchange(scope).average(accumulated(scope, own)), globalStep);
  }

  /**
   * Adds the gradients of {@code loss} by each variable, averaged over all ranks. Each is reduced
   * on its own, since a step may fetch only some of them. With several backward passes per step
   * they exist only in the last pass of each step; fetching them in another one fails.
   */
  @Override
  public List<GradientAndVariable> computeGradients(
      Scope scope, Output loss, List<GraphVariable> variables) {
    List<GradientAndVariable> own = optimizer.computeGradients(scope, loss, variables);
    return exchange(scope).averageOneByOne(accumulated(scope, own));
  }

  /**
   * Adds the updates, as the wrapped optimizer does. With several backward passes per step the
   * pairs must come from {@link #computeGradients} of this object.
   */
  @Override
  public Node applyGradients(
      Scope scope, List<GradientAndVariable> pairs, GraphVariable globalStep) {
    if (passes != null && sums == null) {
      throw MillraceException.failedPrecondition(
          "With several backward passes per step the gradients to apply must come from"
              + " computeGradients of the same DistributedOptimizer.");
    }
    Node train = optimizer.applyGradients(scope, pairs, globalStep);
    if (passes == null) {
      return train;
    }
    return passes.resetAfter(scope.withSubScope("DistributedOptimizer"), train, sums);
  }

  private List<GradientAndVariable> accumulated(Scope scope, List<GradientAndVariable> own) {
    if (passes == null) {
      return own;
    }
    sums = passes.add(scope.withSubScope("DistributedOptimizer"), own);
    return sums.pairs();
  }

  private GradientExchange exchange(Scope scope) {
    return new GradientExchange(
        ring, scope.withSubScope("DistributedOptimizer"), compression, overlap);
  }
}
