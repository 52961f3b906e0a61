/**
 * {@link dev.millrace.tensor.Tensor Tensors} and what they are made of: element {@link
 * dev.millrace.tensor.DType types}, {@link dev.millrace.tensor.Shape shapes} and reference-counted
 * {@link dev.millrace.tensor.Buffer buffers} of native memory that come from a {@link
 * dev.millrace.tensor.BufferPool pool}. Start with {@code Tensor}; {@link dev.millrace.tensor.Refs}
 * is how the engine holds tensors. The loops that compute on them are in {@code
 * dev.millrace.tensor.math}.
 */
package dev.millrace.tensor;
