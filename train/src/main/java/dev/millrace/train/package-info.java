/**
 * The training library: {@link dev.millrace.train.variable variables}, {@link
 * dev.millrace.train.layers layers} and {@link dev.millrace.train.optimizer optimizers}, thin
 * functions that add ops to a graph. The nodes they add and their names are those that TensorFlow's
 * Python library adds, so checkpoints and graphs are understood on both sides.
 */
package dev.millrace.train;
