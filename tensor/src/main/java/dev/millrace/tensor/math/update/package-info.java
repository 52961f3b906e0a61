/**
 * What optimizers do to variables: one class per rule, each a single fused pass over the variable,
 * its slots and the gradient. {@link dev.millrace.tensor.math.update.UpdateRule} holds the loops.
 */
package dev.millrace.tensor.math.update;
