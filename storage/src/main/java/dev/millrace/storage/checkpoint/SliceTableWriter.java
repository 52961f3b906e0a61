package dev.millrace.storage.checkpoint;

import com.google.protobuf.ByteString;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.proto.DataType;
import dev.millrace.proto.SavedSlice;
import dev.millrace.proto.SavedSliceMeta;
import dev.millrace.proto.SavedTensorSliceMeta;
import dev.millrace.proto.SavedTensorSlices;
import dev.millrace.proto.VersionDef;
import dev.millrace.storage.AtomicFile;
import dev.millrace.storage.table.TableWriter;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.nio.file.Path;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Writes a checkpoint of version 1, the format before tensor bundles: a single file, a table of
 * slices with a table of contents as its first entry. All is kept until {@link #finish}, as the
 * contents come first.
 */
public final class SliceTableWriter {
  /** The version of the format written here. */
  private static final int VERSION = 1;

  private final Path file;
  private final SortedMap<String, SavedSliceMeta.Builder> contents = new TreeMap<>();
  private final SortedMap<ByteString, ByteString> slices = new TreeMap<>(TableWriter.KEY_ORDER);

  /** Starts the checkpoint {@code file} and creates its directory if necessary. */
  public SliceTableWriter(Path file) {
    this.file = file.toAbsolutePath();
    AtomicFile.makeDirectories(AtomicFile.folderOf(this.file));
  }

  /** Adds a whole tensor. */
  public void add(String name, Tensor tensor) {
    add(name, tensor.shape(), TensorSlice.whole(tensor.shape().rank()), tensor);
  }

  /** Adds one part of a tensor; other parts may be in this file or in others. */
  public void add(String name, ShapeAndSlice part, Tensor tensor) {
    if (!tensor.shape().equals(part.sliceShape())) {
      throw MillraceException.invalid(
          "Cannot save a tensor of shape %s as the slice '%s' of '%s': that has shape %s.",
          tensor.shape(), part, name, part.sliceShape());
    }
    add(name, part.shape(), part.slice(), tensor);
  }

  private void add(String name, Shape full, TensorSlice slice, Tensor tensor) {
    SavedSliceMeta.Builder meta =
        SavedSliceMeta.newBuilder()
            .setName(name)
            .setShape(ShapeMessages.of(full))
            .setType(DataType.forNumber(tensor.dtype().number()));
    SavedSliceMeta.Builder before = contents.putIfAbsent(name, meta);
    if (before != null) {
      if (before.getType() != meta.getType() || !before.getShape().equals(meta.getShape())) {
        throw MillraceException.invalid(
            "Cannot save the %s slice '%s' of '%s': an earlier slice was of another type or of a"
                + " tensor of another shape.",
            tensor.dtype(), slice, name);
      }
      meta = before;
    }
    SavedSlice data =
        SavedSlice.newBuilder()
            .setName(name)
            .setSlice(slice.toProto())
            .setData(SliceValues.of(tensor))
            .build();
    ByteString value = SavedTensorSlices.newBuilder().setData(data).build().toByteString();
    if (slices.putIfAbsent(slice.keyOf(name), value) != null) {
      throw new MillraceException(
          Code.ALREADY_EXISTS,
          String.format("Slice '%s' of '%s' has already been added to %s.", slice, name, file));
    }
    meta.addSlice(slice.toProto());
  }

  /** Writes the file, replaces an older one and makes it visible. */
  public void finish() {
    SavedTensorSliceMeta.Builder meta =
        SavedTensorSliceMeta.newBuilder().setVersions(VersionDef.newBuilder().setProducer(VERSION));
    contents.values().forEach(meta::addTensor);
    try (AtomicFile out = new AtomicFile(file)) {
      TableWriter table = new TableWriter(out);
      table.add(
          ByteString.EMPTY, SavedTensorSlices.newBuilder().setMeta(meta).build().toByteString());
      slices.forEach(table::add);
      table.finish();
      out.seal();
      out.publish();
    }
    AtomicFile.syncDirectory(AtomicFile.folderOf(file));
  }
}
