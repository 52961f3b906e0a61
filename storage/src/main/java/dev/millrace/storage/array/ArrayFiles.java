package dev.millrace.storage.array;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.storage.AtomicFile;
import dev.millrace.storage.checkpoint.BundleReader;
import dev.millrace.storage.checkpoint.BundleWriter;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/**
 * Reads and writes tensors in the files of other libraries, and converts checkpoints to them and
 * back. The name of a file says what it is: {@code .npz} for NumPy, {@code .safetensors}. Tensors
 * are copied one by one, so a conversion needs memory for the largest only. A file gets its name
 * when it is complete.
 */
public final class ArrayFiles {
  /** What TensorFlow 2 puts into checkpoints beside the variables. */
  private static final String OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH";

  private static final String NUMPY = ".npz";
  private static final String SAFETENSORS = ".safetensors";

  private ArrayFiles() {}

  /** Opens a file and reads what tensors it has. */
  public static TensorSource open(Path file) {
    return isNumpy(file) ? new NpzFile(file) : new SafetensorsFile(file);
  }

  /** Writes tensors, in the order of the map. */
  public static void write(Path file, Map<String, Tensor> tensors) {
    write(file, new Given(tensors));
  }

  private static void write(Path file, TensorSource tensors) {
    boolean numpy = isNumpy(file);
    AtomicFile.makeDirectories(AtomicFile.folderOf(file));
    try (AtomicFile out = new AtomicFile(file.toAbsolutePath())) {
      if (numpy) {
        NpzFile.write(file, out, tensors);
      } else {
        SafetensorsFile.write(file, out, tensors);
      }
      out.seal();
      out.publish();
    }
    AtomicFile.syncDirectory(AtomicFile.folderOf(file));
  }

  /**
   * Writes the tensors of a checkpoint whose names {@code wanted} accepts to {@code file}, and
   * returns their names.
   */
  public static List<String> fromCheckpoint(Path checkpoint, Path file, Predicate<String> wanted) {
    try (BundleReader reader = new BundleReader(checkpoint)) {
      List<String> names =
          reader.names().stream().filter(n -> !n.equals(OBJECT_GRAPH)).filter(wanted).toList();
      if (names.isEmpty()) {
        throw new MillraceException(
            Code.NOT_FOUND,
            "No tensor of checkpoint " + checkpoint + " is wanted; it has " + reader.names() + ".");
      }
      write(file, new Saved(reader, names));
      return names;
    }
  }

  /** Writes the tensors of {@code file} to a checkpoint, and returns their names. */
  public static List<String> toCheckpoint(Path file, Path checkpoint) {
    try (TensorSource source = open(file);
        BundleWriter writer = new BundleWriter(checkpoint)) {
      if (source.names().isEmpty()) {
        throw MillraceException.invalid("%s has no tensor.", file);
      }
      for (String name : source.names()) {
        try (Tensor t = source.read(name)) {
          writer.add(name, t);
        }
      }
      writer.finish();
      return source.names();
    }
  }

  private static boolean isNumpy(Path file) {
    String name = file.toString();
    if (!name.endsWith(NUMPY) && !name.endsWith(SAFETENSORS)) {
      throw MillraceException.invalid(
          "%s is neither called %s nor %s, so its format is not known.", file, NUMPY, SAFETENSORS);
    }
    return name.endsWith(NUMPY);
  }

  /** Some tensors of a checkpoint. */
  private record Saved(BundleReader reader, List<String> names) implements TensorSource {
    @Override
    public DType dtype(String name) {
      return reader.dtype(name);
    }

    @Override
    public Shape shape(String name) {
      return reader.shape(name);
    }

    @Override
    public Tensor read(String name) {
      return reader.read(name);
    }

    @Override
    public void close() {
      // The reader belongs to the caller.
    }
  }

  /** Tensors in memory. */
  private record Given(Map<String, Tensor> tensors) implements TensorSource {
    @Override
    public List<String> names() {
      return new ArrayList<>(tensors.keySet());
    }

    private Tensor get(String name) {
      Tensor t = tensors.get(name);
      if (t == null) {
        throw MillraceException.invalid("There is no tensor '%s'.", name);
      }
      return t;
    }

    @Override
    public DType dtype(String name) {
      return get(name).dtype();
    }

    @Override
    public Shape shape(String name) {
      return get(name).shape();
    }

    @Override
    public Tensor read(String name) {
      return get(name).copy();
    }

    @Override
    public void close() {
      // The tensors belong to the caller.
    }
  }
}
