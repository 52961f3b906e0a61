package dev.millrace.train.data;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/** Where datasets begin: arrays, IDX files, other datasets. */
public final class Datasets {
  private Datasets() {}

  /**
   * The rows of tensors that have equally many, such as images and labels. The tensors are borrowed
   * for as long as the dataset is used.
   */
  public static Dataset rows(Tensor... tensors) {
    if (tensors.length == 0) {
      throw MillraceException.invalid("A dataset needs at least one tensor.");
    }
    long n = tensors[0].shape().rank() == 0 ? -1 : tensors[0].shape().dim(0);
    for (Tensor t : tensors) {
      if (t.shape().rank() == 0 || t.shape().dim(0) != n) {
        throw MillraceException.invalid(
            "The tensors of a dataset must have equally many rows; the first is %s, another is %s.",
            tensors[0].shape(), t.shape());
      }
    }
    return generated(
        Math.toIntExact(n),
        i -> {
          Tensor[] element = new Tensor[tensors.length];
          for (int c = 0; c < tensors.length; c++) {
            element[c] = row(tensors[c], i);
          }
          return element;
        });
  }

  /** {@code n} elements made by number, such as the results of a query. */
  public static Dataset generated(int n, IntFunction<Tensor[]> element) {
    return new Numbered(n, element);
  }

  private static Tensor row(Tensor t, int i) {
    Shape shape = t.shape().slice(1, t.shape().rank());
    if (!t.dtype().isPlain()) {
      int n = Math.toIntExact(shape.elements());
      Object[] objects = new Object[n];
      System.arraycopy(t.objects(), i * n, objects, 0, n);
      return Tensor.ofObjects(t.dtype(), shape, objects);
    }
    Tensor row = Tensor.allocate(t.dtype(), shape);
    Refs.copyBytes(t, i * row.byteSize(), row, 0, row.byteSize());
    return row;
  }

  /** Datasets one after the other, each a split that may be read apart from the others. */
  public static Dataset splits(List<? extends Dataset> splits) {
    return new Joined(List.copyOf(splits));
  }

  /** An element of each of {@code datasets} in turn, of those that have more. */
  public static Dataset interleave(List<? extends Dataset> datasets) {
    return new Interleaved(List.copyOf(datasets));
  }

  /** Elements that {@code function} makes of the values of a collection, in their order. */
  public static <T> Dataset of(Iterable<T> values, Function<T, Tensor[]> function) {
    return stream(() -> StreamSupport.stream(values.spliterator(), false), function);
  }

  /**
   * Elements that {@code function} makes of the values of a stream. Every passage asks for another
   * stream, which has the same values, and closes it.
   */
  public static <T> Dataset stream(Supplier<Stream<T>> streams, Function<T, Tensor[]> function) {
    return new Iterated<>(streams, function);
  }

  /** The rows of an IDX file, the form MNIST comes in, gzipped or not. */
  public static Dataset idx(Path file) {
    return rows(IdxFile.read(file));
  }

  /** The rows of two IDX files side by side: images and their labels. */
  public static Dataset idx(Path images, Path labels) {
    return rows(IdxFile.read(images), IdxFile.read(labels));
  }
}
