/**
 * Matrix products. {@link dev.millrace.tensor.math.gemm.Gemm} chooses between oneDNN and the Vector
 * API loops by type, shape and sparsity.
 */
package dev.millrace.tensor.math.gemm;
