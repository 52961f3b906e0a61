package dev.millrace.job;

import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.job.flags.ProgramFlags;
import dev.millrace.ops.array.Const;
import dev.millrace.train.optimizer.LearningRates;
import dev.millrace.train.variable.GraphVariable;

/**
 * What an optimizer is made with.
 *
 * @param scope where its learning rate is computed
 * @param globalStep the steps done so far, over all workers
 * @param steps how many steps the job makes
 * @param workers how many workers or ranks there are
 */
public record OptimizerContext(
    Scope scope, GraphVariable globalStep, long steps, int workers, ProgramFlags flags) {
  /** The rate of {@code --learning-rate}, or {@code usual} where that is not given. */
  public float rate(double usual) {
    Double given = flags.number(JobFlags.LEARNING_RATE);
    return (float) (given == null ? usual : given);
  }

  /** A learning rate that stays the same. */
  public Output constant(double usual) {
    return Const.of(scope, rate(usual));
  }

  /** A learning rate that falls to 0 over the steps of the job, along half a wave. */
  public Output cosineDecay(double usual) {
    return LearningRates.cosineDecay(scope, rate(usual), globalStep, steps, 0);
  }
}
