/**
 * Optimizers turn a loss into an op that makes a step of training: start with {@link
 * dev.millrace.train.optimizer.Optimizer}. Beside them: clipping, learning-rate schedules and
 * moving averages.
 */
package dev.millrace.train.optimizer;
