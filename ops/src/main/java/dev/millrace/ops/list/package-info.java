/**
 * Lists of tensors and values that may be missing, as elements of variant tensors: what loops and
 * branches keep for their gradients where they are written as functions. Start with {@link
 * dev.millrace.ops.value.TensorList}.
 */
package dev.millrace.ops.list;
