/** Rows of values as tensors, and calls that are put together to batches. */
package dev.millrace.serving.batch;
