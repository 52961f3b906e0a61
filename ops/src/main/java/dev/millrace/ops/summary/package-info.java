/**
 * Ops whose result is a serialized Summary: what TensorBoard shows. {@link
 * dev.millrace.ops.summary.SummaryOps} lists them.
 */
package dev.millrace.ops.summary;
