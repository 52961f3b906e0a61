/** Linear algebra on batches of matrices, the last two dimensions of tensors. */
package dev.millrace.ops.linear;
