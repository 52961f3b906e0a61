/**
 * TensorFlow's standard ops for the JVM. Each file holds all there is to know of one op or of a
 * family that differs by one expression; {@link dev.millrace.ops.StandardOps} lists them all.
 */
package dev.millrace.ops;
