package dev.millrace.storage;

import dev.millrace.storage.checkpoint.BundleReader;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.ref.Reference;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;

/** Tensors and bundles as values that can be compared. */
public final class Contents {
  private Contents() {}

  /** Type, shape and bytes. */
  public static String of(Tensor tensor) {
    StringBuilder s = new StringBuilder(tensor.dtype() + " " + tensor.shape());
    if (tensor.dtype().isPlain()) {
      byte[] bytes = tensor.data().toArray(ValueLayout.JAVA_BYTE);
      s.append(' ').append(HexFormat.of().formatHex(bytes));
      Reference.reachabilityFence(tensor);
    } else {
      for (Object o : tensor.objects()) {
        s.append(' ').append(HexFormat.of().formatHex((byte[]) o));
      }
    }
    return s.toString();
  }

  /** As {@link #of(Tensor)}, for a tensor just read, which is given back. */
  public static String consume(Tensor tensor) {
    try {
      return of(tensor);
    } finally {
      tensor.close();
    }
  }

  /** Everything in a bundle: whole tensors, and the names of their slices. */
  public static Map<String, List<String>> of(Path prefix) {
    try (BundleReader reader = new BundleReader(prefix)) {
      Map<String, List<String>> contents = new TreeMap<>();
      for (String name : reader.names()) {
        List<String> about = new ArrayList<>();
        about.add(consume(reader.read(name)));
        reader.slices(name).forEach(slice -> about.add(slice.toString()));
        contents.put(name, about);
      }
      return contents;
    }
  }

  /** A tensor of random bytes, or of random strings. */
  public static Tensor random(Random random, DType dtype, Shape shape) {
    if (dtype == DType.STRING) {
      Object[] strings = new Object[(int) shape.elements()];
      for (int i = 0; i < strings.length; i++) {
        byte[] s = new byte[random.nextInt(10) == 0 ? random.nextInt(5000) : random.nextInt(9)];
        random.nextBytes(s);
        strings[i] = s;
      }
      return Tensor.ofObjects(dtype, shape, strings);
    }
    Tensor tensor = Tensor.allocate(dtype, shape);
    byte[] bytes = new byte[(int) tensor.byteSize()];
    random.nextBytes(bytes);
    tensor.data().copyFrom(MemorySegment.ofArray(bytes));
    return tensor;
  }
}
