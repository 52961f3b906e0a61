package dev.millrace.storage.checkpoint;

import com.google.protobuf.ByteString;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.proto.BundleEntryProto;
import dev.millrace.storage.AtomicFile;
import dev.millrace.storage.Failures;
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
 * Merges several bundles into one, like TensorFlow's MergeV2Checkpoints. Merges the indexes and
 * renames the data files; copies no tensor. The tasks of a cluster use this to save one checkpoint
 * together.
 */
public final class BundleMerge {
  private final Path target;
  private final SequencedMap<ByteString, BundleEntryProto> entries = BundleIndex.newEntries();

  /** The data files of the merged bundle, by their current names. */
  private final List<Path> dataFiles = new ArrayList<>();

  private BundleMerge(Path target) {
    this.target = target.toAbsolutePath();
  }

  /**
   * Merges the bundles {@code sources} into {@code target} and replaces an older bundle of that
   * name. Removes the sources, and with {@code deleteOldDirs} also their directories if they are
   * empty. When this returns, the target is on disk. After a crash during the call, the older
   * target still exists.
   *
   * @param allowMissing whether to skip a source that does not exist; otherwise the call fails with
   *     NOT_FOUND
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
    int[] numbers = new int[index.shards()];
    for (int shard = 0; shard < numbers.length; shard++) {
      Path file = BundleIndex.dataFile(source, shard, numbers.length);
      numbers[shard] = Files.exists(file) ? dataFiles.size() : -1;
      if (numbers[shard] >= 0) {
        dataFiles.add(file);
      }
    }
    index
        .entries()
        .forEach(
            (key, entry) -> {
              boolean isPartitioned = entry.getSlicesCount() > 0;
              BundleEntryProto moved =
                  isPartitioned
                      ? entry
                      : entry.toBuilder().setShardId(number(source, entry, numbers)).build();
              entries.merge(key, moved, (a, b) -> join(key, a, b));
            });
  }

  /** The number of the merged bundle's data file that contains an entry. */
  private static int number(Path source, BundleEntryProto entry, int[] numbers) {
    int shard = entry.getShardId();
    if (shard < 0 || shard >= numbers.length || numbers[shard] < 0) {
      throw Failures.corrupt(
          BundleIndex.dataFile(source, shard, numbers.length),
          "is missing, so checkpoint %s cannot be merged.",
          source);
    }
    return numbers[shard];
  }

  /** Combines the entries of a partitioned tensor that has slices in two bundles. */
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
    AtomicFile.makeDirectories(AtomicFile.folderOf(target));
    synchronized (BundleIndex.publishing(target)) {
      publishAlone();
    }
  }

  private void publishAlone() {
    int shards = BundleIndex.unusedShards(target, dataFiles.size());
    try (AtomicFile index = new AtomicFile(BundleIndex.file(target))) {
      new BundleIndex(shards, entries).write(index);
      index.seal();
      for (Path file : dataFiles) {
        sync(file);
      }
      for (int i = 0; i < dataFiles.size(); i++) {
        AtomicFile.move(dataFiles.get(i), BundleIndex.dataFile(target, i, shards));
      }
      AtomicFile.syncDirectory(AtomicFile.folderOf(target));
      index.publish();
    }
    AtomicFile.syncDirectory(AtomicFile.folderOf(target));
    BundleIndex.removeOtherData(target, shards);
  }

  /** Forces a source to disk: the process that wrote it may not have done so. */
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
      // The directory contains other files and stays.
    } catch (IOException e) {
      throw Failures.io("Cannot remove", path, e);
    }
  }
}
