/** The diagonals of matrices and of tensors of more dimensions. */
package dev.millrace.ops.matrix;
