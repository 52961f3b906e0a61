package dev.millrace.ring;

import dev.millrace.base.MillraceException;
import dev.millrace.collective.Ring;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.train.optimizer.GradientAndVariable;
import dev.millrace.train.optimizer.Optimizer;
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
public final class DistributedOptimizer {
  private final Ring ring;
  private final Optimizer optimizer;
  private final Compression compression;
  private final PassAccumulator passes;
  private final boolean overlap;

  /** Wraps {@code optimizer}. */
  public DistributedOptimizer(Ring ring, Optimizer optimizer) {
    this(ring, optimizer, Compression.NONE, null, true);
  }

  private DistributedOptimizer(
      Ring ring,
      Optimizer optimizer,
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

  /** Adds all that one step needs; without {@code globalStep} (null) none is counted. */
  public Node minimize(Scope scope, Output loss, GraphVariable globalStep) {
    List<GradientAndVariable> own =
        optimizer.computeGradients(scope, loss, Variables.trainable(scope.graph()));
    if (passes == null) {
      return optimizer.applyGradients(scope, exchange(scope).average(own), globalStep);
    }
    Scope s = scope.withSubScope("DistributedOptimizer");
    PassAccumulator.Accumulated sums = passes.add(s, own);
    Node train = optimizer.applyGradients(scope, exchange(scope).average(sums.pairs()), globalStep);
    return passes.resetAfter(s, train, sums);
  }

  /** Adds the gradients of {@code loss} by each variable, averaged over all ranks. */
  public List<GradientAndVariable> computeGradients(
      Scope scope, Output loss, List<GraphVariable> variables) {
    if (passes != null) {
      throw MillraceException.failedPrecondition(
          "With several backward passes per step use minimize: not every run yields gradients.");
    }
    return exchange(scope).averageOneByOne(optimizer.computeGradients(scope, loss, variables));
  }

  /** Adds the updates, as the wrapped optimizer does. */
  public Node applyGradients(
      Scope scope, List<GradientAndVariable> pairs, GraphVariable globalStep) {
    return optimizer.applyGradients(scope, pairs, globalStep);
  }

  private GradientExchange exchange(Scope scope) {
    return new GradientExchange(
        ring, scope.withSubScope("DistributedOptimizer"), compression, overlap);
  }
}
