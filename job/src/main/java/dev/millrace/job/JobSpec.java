package dev.millrace.job;

import dev.millrace.job.flags.ProgramFlags;
import dev.millrace.train.data.Dataset;
import dev.millrace.train.hook.SessionRunHook;
import dev.millrace.train.optimizer.Minimizer;
import java.util.List;
import java.util.function.Function;
import java.util.function.ToIntFunction;

/**
 * What a program has said of its job.
 *
 * @param evaluate null if there is nothing to evaluate on
 * @param best the metric by which the best model is kept; null for none
 * @param highest whether more of it is better
 * @param loop null for the usual one
 */
record JobSpec(
    String name,
    Function<ModelBuilder, Model> model,
    Function<ProgramFlags, Dataset> train,
    Function<ProgramFlags, Dataset> evaluate,
    ToIntFunction<ProgramFlags> epochs,
    Function<OptimizerContext, Minimizer> optimizer,
    List<Function<Model, SessionRunHook>> hooks,
    List<EvaluationListener> listeners,
    String best,
    boolean highest,
    TrainingLoop loop) {}
