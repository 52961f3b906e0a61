package dev.millrace.storage.checkpoint;

import com.google.protobuf.ByteString;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.proto.BundleEntryProto;
import dev.millrace.storage.AtomicFile;
import dev.millrace.storage.Checksum;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Tensor;
import java.lang.ref.Reference;
import java.nio.file.Path;
import java.util.SequencedMap;
import java.util.zip.CRC32C;

/**
 * Writes a checkpoint: a tensor bundle with one data file, {@code PREFIX.data-00000-of-00001}, or
 * of-00002 if it replaces one of that name, and {@code PREFIX.index}. Writes tensors as they are
 * added. Files get their final names in {@link #finish}; when that returns, the bundle is on disk.
 * If closed earlier, it leaves no files behind.
 *
 * <p>Threading: one thread at a time.
 */
public final class BundleWriter implements AutoCloseable {
  private final Path prefix;
  private final AtomicFile data;
  private final SequencedMap<ByteString, BundleEntryProto> entries = BundleIndex.newEntries();

  /** Starts the bundle {@code prefix} and creates its directory if necessary. */
  public BundleWriter(Path prefix) {
    this.prefix = prefix.toAbsolutePath();
    AtomicFile.makeDirectories(AtomicFile.folderOf(this.prefix));
    data = new AtomicFile(BundleIndex.dataFile(this.prefix, 0, 1));
  }

  /** Adds a whole tensor. */
  public void add(String name, Tensor tensor) {
    ByteString key = keyOf(name);
    if (entries.containsKey(key)) {
      throw duplicate(name);
    }
    entries.put(key, write(name, tensor));
  }

  /**
   * Adds one part of a partitioned tensor; other parts may be in this bundle or in others. A part
   * that covers the whole tensor is stored as a whole tensor.
   */
  public void add(String name, ShapeAndSlice part, Tensor tensor) {
    ByteString key = keyOf(name);
    if (!tensor.shape().equals(part.sliceShape())) {
      throw MillraceException.invalid(
          "Cannot save a tensor of shape %s as the slice '%s' of '%s': that has shape %s.",
          tensor.shape(), part, name, part.sliceShape());
    }
    if (part.sliceShape().equals(part.shape())) {
      add(name, tensor);
      return;
    }
    BundleEntryProto.Builder whole =
        BundleEntryProto.newBuilder()
            .setDtypeValue(tensor.dtype().number())
            .setShape(ShapeMessages.of(part.shape()));
    BundleEntryProto before = entries.get(key);
    if (before != null) {
      if (before.getSlicesCount() == 0) {
        throw duplicate(name);
      }
      if (!before.toBuilder().clearSlices().build().equals(whole.build())) {
        throw MillraceException.invalid(
            "Cannot save the %s slice '%s' of '%s': an earlier slice was of another type or of a"
                + " tensor of another shape.",
            tensor.dtype(), part, name);
      }
      whole.addAllSlices(before.getSlicesList());
    }
    ByteString sliceKey = part.slice().keyOf(name);
    if (entries.containsKey(sliceKey)) {
      throw duplicate(name + "' slice '" + part.slice());
    }
    BundleEntryProto entry = write(name, tensor);
    entries.put(sliceKey, entry);
    entries.put(key, whole.addSlices(part.slice().toProto()).build());
  }

  private static ByteString keyOf(String name) {
    ByteString key = ByteString.copyFromUtf8(name);
    if (!BundleIndex.isName(key)) {
      throw MillraceException.invalid(
          "Cannot save a tensor under the name '%s': it is empty or begins with a zero byte.",
          name);
    }
    return key;
  }

  private MillraceException duplicate(String name) {
    return new MillraceException(
        Code.ALREADY_EXISTS,
        String.format("'%s' has already been added to checkpoint %s.", name, prefix));
  }

  private BundleEntryProto write(String name, Tensor tensor) {
    long offset = data.position();
    CRC32C crc = new CRC32C();
    if (tensor.dtype().isPlain()) {
      // A shared tensor, such as a variable's value, may change while it is written.
      if (Refs.isUnshared(tensor)) {
        data.writeStable(tensor.data(), crc);
      } else {
        data.write(tensor.data(), crc);
      }
    } else if (tensor.dtype() == DType.STRING) {
      StringEncoding.write(data, tensor.objects(), crc);
    } else {
      throw new MillraceException(
          Code.UNIMPLEMENTED,
          String.format(
              "Cannot save '%s': a %s tensor cannot be stored in a checkpoint.",
              name, tensor.dtype()));
    }
    Reference.reachabilityFence(tensor);
    return BundleEntryProto.newBuilder()
        .setDtypeValue(tensor.dtype().number())
        .setShape(ShapeMessages.of(tensor.shape()))
        .setOffset(offset)
        .setSize(data.position() - offset)
        .setCrc32C(Checksum.masked(crc))
        .build();
  }

  /**
   * Completes the checkpoint, makes it visible and replaces an older one of this prefix. After a
   * crash during the call, the older one still exists.
   */
  public void finish() {
    data.seal();
    synchronized (BundleIndex.publishing(prefix)) {
      int shards = BundleIndex.unusedShards(prefix, 1);
      try (AtomicFile index = new AtomicFile(BundleIndex.file(prefix))) {
        new BundleIndex(shards, entries).write(index);
        index.seal();
        data.publishAs(BundleIndex.dataFile(prefix, 0, shards));
        AtomicFile.syncDirectory(AtomicFile.folderOf(prefix));
        index.publish();
      }
      AtomicFile.syncDirectory(AtomicFile.folderOf(prefix));
      BundleIndex.removeOtherData(prefix, shards);
    }
  }

  /** Deletes the temporary files unless the checkpoint is finished. */
  @Override
  public void close() {
    data.close();
  }
}
