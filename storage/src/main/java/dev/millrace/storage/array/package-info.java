/**
 * Tensors by name in the files of other libraries: NumPy's {@code .npz} and safetensors. {@link
 * dev.millrace.storage.array.ArrayFiles} is where to begin.
 */
@NullMarked
package dev.millrace.storage.array;

import org.jspecify.annotations.NullMarked;
