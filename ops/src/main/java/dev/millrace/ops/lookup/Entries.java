package dev.millrace.ops.lookup;

import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * Keys and values outside of tensors, as objects that are equal if they are the same: Long, Double,
 * String with a character for each byte, or a List of these where there are several to an entry.
 */
final class Entries {
  private Entries() {}

  /** Entry {@code i} of a tensor in which each has {@code size} elements. */
  static Object read(Tensor t, long i, int size) {
    if (size == 1) {
      return element(t, i);
    }
    List<Object> several = new ArrayList<>(size);
    for (int k = 0; k < size; k++) {
      several.add(element(t, i * size + k));
    }
    return several;
  }

  /** Sets entry {@code i} of a tensor in which each has {@code size} elements. */
  static void write(Tensor t, long i, int size, Object entry) {
    if (size == 1) {
      set(t, i, entry);
      return;
    }
    List<?> several = (List<?>) entry;
    for (int k = 0; k < size; k++) {
      set(t, i * size + k, several.get(k));
    }
  }

  /** The entry of {@code size} elements that is all zeros or empty strings. */
  static Object zero(DType type, int size) {
    Object zero = type == DType.STRING ? "" : type.isFloating() ? (Object) 0.0 : (Object) 0L;
    return size == 1 ? zero : Collections.nCopies(size, zero);
  }

  static String text(byte[] bytes) {
    return new String(bytes, StandardCharsets.ISO_8859_1);
  }

  private static Object element(Tensor t, long i) {
    if (t.dtype() == DType.STRING) {
      return text(t.bytesAt(i));
    }
    // No zero is different from another, as a key of TensorFlow.
    return t.dtype().isFloating() ? (Object) (t.doubleAt(i) + 0.0) : (Object) t.longAt(i);
  }

  private static void set(Tensor t, long i, Object element) {
    switch (element) {
      case String s -> t.objects()[Math.toIntExact(i)] = s.getBytes(StandardCharsets.ISO_8859_1);
      case Double d -> t.setDouble(i, d);
      default -> t.setLong(i, (Long) element);
    }
  }
}
