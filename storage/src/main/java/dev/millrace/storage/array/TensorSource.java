package dev.millrace.storage.array;

import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;

/**
 * Tensors that are read one by one, by name.
 *
 * <p>Threading: one thread at a time.
 */
public interface TensorSource extends AutoCloseable {
  /** The names of all tensors, in the order of the file. */
  List<String> names();

  /** The element type of a tensor. */
  DType dtype(String name);

  /** The shape of a tensor. */
  Shape shape(String name);

  /** The tensor, which the caller closes. */
  Tensor read(String name);

  @Override
  void close();
}
