package dev.millrace.storage;

import com.google.protobuf.ByteString;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.proto.BundleEntryProto;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.SequencedMap;
import java.util.Set;

/**
 * Makes one bundle of several, as TensorFlow's MergeV2Checkpoints does: the indexes become one, the
 * data files are renamed, no tensor is copied. This is how the tasks of a cluster save one
 * checkpoint together.
 */
public final class BundleMerge {
  private final Path target;
  private final SequencedMap<ByteString, BundleEntryProto> entries = BundleIndex.newEntries();

  /** The data files of the merged bundle, as they are called now. */
  private final List<Path> dataFiles = new ArrayList<>();

  private BundleMerge(Path target) {
    this.target = target.toAbsolutePath();
  }

  /**
   * Merges the bundles {@code sources} into {@code target}, in place of an older one with this
   * prefix. The sources are gone after, and with {@code deleteOldDirs} their directories too where
   * nothing else is in them. When this returns, all of the target is on disk; after a crash in the
   * middle there is no target.
   *
   * @param allowMissing whether a source that does not exist is left out; NOT_FOUND otherwise
   */
  public static void merge(
      List<Path> sources, Path target, boolean deleteOldDirs, boolean allowMissing) {
    List<Path> present = new ArrayList<>();
    for (Path source : sources) {
      if (!allowMissing || Files.exists(BundleIndex.file(source))) {
        present.add(source.toAbsolutePath());
      }
    }
    if (present.isEmpty()) {
      throw new MillraceException(
          Code.NOT_FOUND,
          String.format(
              "None of the %d checkpoints to merge exists: %s.", sources.size(), sources));
    }
    BundleMerge merge = new BundleMerge(target);
    for (Path source : present) {
      merge.take(source);
    }
    merge.publish();
    merge.removeSources(present, deleteOldDirs);
  }

  private void take(Path source) {
    BundleIndex index = BundleIndex.read(source);
    int firstShard = dataFiles.size();
    for (int shard = 0; shard < index.shards(); shard++) {
      Path file = BundleIndex.dataFile(source, shard, index.shards());
      if (!Files.exists(file)) {
        throw Failures.corrupt(file, "is missing, so checkpoint %s cannot be merged.", source);
      }
      dataFiles.add(file);
    }
    index
        .entries()
        .forEach(
            (key, entry) -> {
              boolean isPartitioned = entry.getSlicesCount() > 0;
              BundleEntryProto moved =
                  isPartitioned
                      ? entry
                      : entry.toBuilder().setShardId(entry.getShardId() + firstShard).build();
              entries.merge(key, moved, (a, b) -> join(key, a, b));
            });
  }

  /** The entry of a partitioned tensor that has slices in two bundles. */
  private BundleEntryProto join(ByteString key, BundleEntryProto a, BundleEntryProto b) {
    if (a.getSlicesCount() == 0 || b.getSlicesCount() == 0) {
      throw MillraceException.invalid(
          "Two of the checkpoints merged into %s have a tensor '%s'.", target, key.toStringUtf8());
    }
    if (a.getDtypeValue() != b.getDtypeValue() || !a.getShape().equals(b.getShape())) {
      throw MillraceException.invalid(
          "The checkpoints merged into %s have slices of '%s' that differ in type or full shape.",
          target, key.toStringUtf8());
    }
    return a.toBuilder().addAllSlices(b.getSlicesList()).build();
  }

  private void publish() {
    AtomicFile.makeDirectories(target.getParent());
    Path indexFile = BundleIndex.file(target);
    int shards = dataFiles.size();
    try (AtomicFile index = new AtomicFile(indexFile)) {
      new BundleIndex(shards, entries).write(index);
      index.seal();
      for (Path file : dataFiles) {
        sync(file);
      }
      BundleWriter.removeIndex(indexFile);
      for (int shard = 0; shard < shards; shard++) {
        AtomicFile.move(dataFiles.get(shard), BundleIndex.dataFile(target, shard, shards));
      }
      index.publish();
    }
    AtomicFile.syncDirectory(target.getParent());
  }

  /** Whoever wrote a source may not have waited for the disk. */
  private static void sync(Path file) {
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
      channel.force(true);
    } catch (IOException e) {
      throw Failures.io("Cannot sync", file, e);
    }
  }

  private void removeSources(List<Path> sources, boolean deleteOldDirs) {
    Set<Path> directories = new LinkedHashSet<>();
    for (Path source : sources) {
      directories.add(source.getParent());
      Path index = BundleIndex.file(source);
      if (!source.equals(target)) {
        delete(index);
      }
    }
    directories.remove(target.getParent());
    if (deleteOldDirs) {
      directories.forEach(BundleMerge::delete);
    }
  }

  private static void delete(Path path) {
    try {
      Files.deleteIfExists(path);
    } catch (DirectoryNotEmptyException e) {
      // Somebody else's files: they stay.
    } catch (IOException e) {
      throw Failures.io("Cannot remove", path, e);
    }
  }
}
