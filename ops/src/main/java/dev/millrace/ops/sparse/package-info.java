/**
 * Tensors of which only some elements are given, by coordinates, values and the shape of the whole;
 * and sums of rows picked by index, as embeddings need them.
 */
package dev.millrace.ops.sparse;
