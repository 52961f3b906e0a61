/**
 * Ops that change or read the slices of a tensor or a variable at coordinates. Start with {@link
 * dev.millrace.ops.scatter.SliceUpdates}, the loop they share.
 */
package dev.millrace.ops.scatter;
