/**
 * Ops that move elements between the spatial dimensions of a tensor and its batch or depth
 * dimension. Start with {@link dev.millrace.ops.space.Blocks}, the copy they share.
 */
package dev.millrace.ops.space;
