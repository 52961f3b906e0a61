package dev.millrace.storage.checkpoint;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Preconditions;
import dev.millrace.proto.SavedSlice;
import dev.millrace.proto.SavedSliceMeta;
import dev.millrace.proto.SavedTensorSlices;
import dev.millrace.proto.TensorSliceProto;
import dev.millrace.storage.Failures;
import dev.millrace.storage.table.TableReader;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Reads checkpoints of version 1, of one file or of several that each hold some of the tensors or
 * some of their slices. Tensors are read on demand, whole or in part.
 *
 * <p>Threading: any number of threads may read at once.
 */
public final class SliceTableReader {
  private final List<Path> files;

  /** The stored tensors by name. */
  private final Map<String, Stored> tensors = new LinkedHashMap<>();

  /** A tensor and the files its slices are in. */
  private record Stored(DType dtype, Shape shape, Map<TensorSlice, Path> slices) {}

  /** Reads the tables of contents of {@code files}. */
  public SliceTableReader(List<Path> files) {
    this.files = List.copyOf(files);
    for (Path file : files) {
      for (SavedSliceMeta meta : entry(file, ByteString.EMPTY).getMeta().getTensorList()) {
        add(file, meta);
      }
    }
  }

  private void add(Path file, SavedSliceMeta meta) {
    Shape shape = ShapeMessages.shape(meta.getShape());
    DType dtype;
    try {
      dtype = DType.of(meta.getTypeValue());
    } catch (MillraceException e) {
      throw Failures.corrupt(file, "tensor '%s': %s", meta.getName(), e.getMessage());
    }
    if (shape == null) {
      throw Failures.corrupt(file, "tensor '%s' has a shape that no tensor has.", meta.getName());
    }
    Stored stored =
        tensors.computeIfAbsent(
            meta.getName(), n -> new Stored(dtype, shape, new LinkedHashMap<>()));
    if (stored.dtype != dtype || !stored.shape.equals(shape)) {
      throw Failures.corrupt(
          file,
          "tensor '%s' is %s%s here and %s%s in another file of the checkpoint.",
          meta.getName(),
          dtype,
          shape,
          stored.dtype,
          stored.shape);
    }
    for (TensorSliceProto proto : meta.getSliceList()) {
      TensorSlice slice = TensorSlice.of(proto);
      if (!slice.fits(shape)) {
        throw Failures.corrupt(
            file, "slice '%s' of tensor '%s' does not fit %s.", slice, meta.getName(), shape);
      }
      stored.slices.put(slice, file);
    }
  }

  private static SavedTensorSlices entry(Path file, ByteString key) {
    ByteString value = TableReader.find(file, key);
    if (value == null) {
      throw Failures.corrupt(file, "an entry is missing: it is damaged or no such checkpoint.");
    }
    try {
      return SavedTensorSlices.parseFrom(value);
    } catch (InvalidProtocolBufferException e) {
      throw Failures.corrupt(file, "an entry cannot be read: %s", e.getMessage());
    }
  }

  /** The names of all tensors. */
  public List<String> names() {
    return List.copyOf(tensors.keySet());
  }

  /** The element type of a tensor. */
  public DType dtype(String name) {
    return stored(name).dtype;
  }

  /** The shape of a tensor; for one saved in parts that of the whole. */
  public Shape shape(String name) {
    return stored(name).shape;
  }

  private Stored stored(String name) {
    Stored s = tensors.get(name);
    if (s == null) {
      throw new MillraceException(
          Code.NOT_FOUND,
          String.format(
              "Tensor name \"%s\" not found in checkpoint files %s, which have %d other tensors.",
              name, files, tensors.size()));
    }
    return s;
  }

  /** The whole tensor. The caller owns it. */
  public Tensor read(String name) {
    return Refs.handle(readCounted(name), name);
  }

  /** The whole tensor, with one counted reference that the caller releases. */
  public Tensor readCounted(String name) {
    return read(name, TensorSlice.whole(stored(name).shape.rank()));
  }

  /** Part of a tensor. The caller owns it. */
  public Tensor read(String name, ShapeAndSlice part) {
    return Refs.handle(readCounted(name, part), name);
  }

  /** Part of a tensor, with one counted reference that the caller releases. */
  public Tensor readCounted(String name, ShapeAndSlice part) {
    Shape full = stored(name).shape;
    if (!full.equals(part.shape())) {
      throw MillraceException.invalid(
          "Tensor '%s' has shape %s in checkpoint %s, but a slice of a tensor of shape %s was asked"
              + " for ('%s').",
          name, full, files, part.shape(), part);
    }
    return read(name, part.slice());
  }

  private Tensor read(String name, TensorSlice wanted) {
    Stored stored = stored(name);
    Shape shape = wanted.shapeIn(stored.shape);
    List<TensorSlice> pieces = new ArrayList<>();
    long found = 0;
    for (TensorSlice slice : stored.slices.keySet()) {
      long common = new CommonRuns(slice, wanted, stored.shape).elements();
      if (common > 0 || shape.elements() == 0) {
        pieces.add(slice);
        found += common;
      }
    }
    if (found != shape.elements() || pieces.isEmpty()) {
      throw new MillraceException(
          Code.NOT_FOUND,
          String.format(
              "Checkpoint %s has %d of the %d elements of slice '%s' of tensor '%s': the parts"
                  + " saved do not cover it.",
              files, found, shape.elements(), wanted, name));
    }
    List<SavedSlice> data = pieces.stream().map(p -> data(name, stored, p)).toList();
    Tensor out = Refs.allocate(stored.dtype, shape);
    for (int i = 0; i < data.size(); i++) {
      CommonRuns runs = new CommonRuns(pieces.get(i), wanted, stored.shape);
      SliceValues.copy(data.get(i).getData(), runs, out);
    }
    return out;
  }

  private SavedSlice data(String name, Stored stored, TensorSlice slice) {
    Path file = Preconditions.value(stored.slices.get(slice), "The file of a slice");
    SavedSlice data = entry(file, slice.keyOf(name)).getData();
    long needed = slice.shapeIn(stored.shape).elements();
    if (SliceValues.count(data.getData(), stored.dtype) != needed) {
      throw Failures.corrupt(
          file,
          "slice '%s' of tensor '%s' has %d values; its shape needs %d.",
          slice,
          name,
          SliceValues.count(data.getData(), stored.dtype),
          needed);
    }
    return data;
  }
}
