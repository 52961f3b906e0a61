/**
 * The optimizers' updates of variables. {@link dev.millrace.ops.train.UpdateOps} tells the rules
 * apart; {@link dev.millrace.ops.train.UpdateFamily} makes of one rule the ops for both kinds of
 * variable and for dense and sparse gradients.
 */
package dev.millrace.ops.train;
